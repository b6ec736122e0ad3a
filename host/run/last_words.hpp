// What status.json will say if the process ends while a run is open. It is kept ready, because
// whoever ends it (a crash, a plugin that calls exit()) leaves no time to put it together.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <filesystem>

namespace gh::host {

// From now on speak_last_words() replaces `file` by `status` with state "failed" and its reason as
// message. One thread at a time; again: with newer numbers.
void prepare_last_words(const std::filesystem::path& file, const nlohmann::ordered_json& status);

// The run is closed: there is nothing to say any more. One thread at a time.
void forget_last_words() noexcept;

// Once, and only in the process that prepared them. `reason` is plain ASCII. Async-signal-safe.
void speak_last_words(const char* reason) noexcept;
// Whether they were, since the last prepare_last_words(): then nothing may be written any more.
bool last_words_spoken() noexcept;

}  // namespace gh::host
