// What status.json will say if the process ends while a run is open. It is kept ready, because
// whoever ends it (a crash, a plugin that calls exit()) leaves no time to put it together.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <filesystem>

namespace gh::host {

// From now on speak_last_words() replaces `file` by `status` with state "failed" and its reason as
// message. Main thread; again: with newer numbers.
void prepare_last_words(const std::filesystem::path& file, const nlohmann::ordered_json& status);

// The run is closed: there is nothing to say any more. Main thread.
void forget_last_words() noexcept;

// Once, and only in the process that prepared them. `reason` is plain ASCII. Async-signal-safe.
void speak_last_words(const char* reason) noexcept;

}  // namespace gh::host
