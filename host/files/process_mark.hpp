// Which process wrote a file. Numbers of processes are used again, so a file that names one has to
// say when it began, too.
#pragma once

#include <cstdint>
#include <string>

namespace gh::host {

// When a process of this machine began, as the system counts; empty where it does not tell.
std::string start_of_process(int64_t process);

// Whether the process of this number that began then has ended, even if nobody waited for it yet.
bool is_process_gone(int64_t process, const std::string& start);

// The name of this machine, without blanks.
std::string machine_name();

}  // namespace gh::host
