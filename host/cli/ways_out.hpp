// A process that ends while a command is under way must not look as if all were well, whoever ends
// it: a plugin, or a library under it, that calls exit(), quick_exit(), _exit() or abort(), lets an
// exception escape, or crashes.
#pragma once

namespace gh::host {

// From here on such an end has exit code kInternal or a signal, a line on stderr, and what the run
// has to say in its status.json (run/last_words.hpp). First thing in main(), after the streams.
void watch_ways_out();

// The command has ended; main() returns this.
int leave(int code);

}  // namespace gh::host
