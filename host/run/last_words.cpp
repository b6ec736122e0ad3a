#include "run/last_words.hpp"

#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

namespace gh::host {
namespace {

struct Words {
  std::string file, temporary;
  std::string before, after;  // the reason
  pid_t process = 0;
};

// Signal handlers have no other way to reach them. The one that is not current is being prepared.
std::array<Words, 2> words;
std::atomic<int> current = -1;
std::atomic<bool> spoken = false;
static_assert(std::atomic<int>::is_always_lock_free);

bool write_all(int fd, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t done = ::write(fd, text.data(), text.size());
    if (done <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

}  // namespace

void prepare_last_words(const std::filesystem::path& file, const nlohmann::ordered_json& status) {
  // As JSON writes it; nothing after the message is text of somebody else.
  constexpr std::string_view kPlace = "\\u0001";
  nlohmann::ordered_json failed = status;
  failed["state"] = "failed";
  failed["message"] = "\x01";
  const std::string text =
      failed.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  const std::size_t place = text.rfind(kPlace);
  const int next = current.load() == 0 ? 1 : 0;
  words[static_cast<std::size_t>(next)] = {file.string(), file.string() + ".tmp",
                                           text.substr(0, place),
                                           text.substr(place + kPlace.size()), ::getpid()};
  spoken.store(false);
  current.store(next);
}

void forget_last_words() noexcept { current.store(-1); }

void speak_last_words(const char* reason) noexcept {
  const int ready = current.exchange(-1);
  if (ready < 0) return;
  spoken.store(true);
  const Words& w = words[static_cast<std::size_t>(ready)];
  if (w.process != ::getpid()) return;
  const int fd = ::open(w.temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return;
  const bool whole = write_all(fd, w.before) && write_all(fd, {reason, std::strlen(reason)}) &&
                     write_all(fd, w.after) && ::fsync(fd) == 0;
  ::close(fd);
  if (!whole || ::rename(w.temporary.c_str(), w.file.c_str()) != 0) ::unlink(w.temporary.c_str());
}

bool last_words_spoken() noexcept { return spoken.load(); }

}  // namespace gh::host
