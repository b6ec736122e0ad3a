#include "study/lease.hpp"

#include "files/file_descriptor.hpp"
#include "files/file_write.hpp"
#include "files/process_mark.hpp"

#include "gh/error.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

namespace gh::host {
namespace {

namespace fs = std::filesystem;

constexpr double kBeatsPerGrace = 12;
constexpr const char* kHeld = "held";
constexpr const char* kFree = "free";

double seconds_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Processes of a machine have numbers of their own in each container.
std::string this_machine() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::error_code none;
  return fmt::format("{}/{}/{}", machine_name(), boot,
                     fs::read_symlink("/proc/self/ns/pid", none).string());
}

std::string new_token() {
  std::array<unsigned char, 16> bytes{};
  require(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
          ErrorCode::io, "the system gives no random numbers");
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

// Nothing: there is no such file.
std::optional<std::string> text_in(const fs::path& file) {
  const FileDescriptor in(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (in.get() < 0 && errno == ENOENT) return std::nullopt;
  if (in.get() < 0) fail_io("cannot read", file);
  std::array<char, 2048> buffer{};
  const ssize_t size = ::read(in.get(), buffer.data(), buffer.size());
  if (size < 0) fail_io("cannot read", file);
  return std::string(buffer.data(), static_cast<std::size_t>(size));
}

bool is_there(const fs::path& file) { return ::access(file.c_str(), F_OK) == 0; }

// All of it in one call, and on a network file system it is there when this returns.
bool write_whole(int fd, const std::string& text) {
  if (::pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) return false;
  const int copy = ::dup(fd);  // closing sends it
  return copy < 0 || ::close(copy) == 0;
}

}  // namespace

struct Leases::Written {
  std::string state, token, machine, start;
  double grace = 0;
  int64_t beats = 0, process = 0;

  explicit Written(const std::string& text) {
    std::istringstream in(text);
    whole =
        static_cast<bool>(in >> state >> grace >> beats >> token >> machine >> process >> start);
  }
  bool whole = false;  // it may just be being written
};

Leases::Leases(const fs::path& directory, LeaseRules rules)
    : directory_(directory),
      rules_(std::move(rules)),
      process_(fmt::format("{} {}", ::getpid(), start_of_process(::getpid()))) {
  if (rules_.machine.empty()) rules_.machine = this_machine();
}

Leases::~Leases() {
  std::vector<std::string> jobs;
  for (const auto& [job, held] : held_) jobs.push_back(job);
  for (const std::string& job : jobs) {
    try {
      give_back(job);
    } catch (const std::exception&) {  // then the grace period has to pass
    }
  }
}

double Leases::watched_time() const {
  return rules_.clock ? rules_.clock() : seconds_of(CLOCK_MONOTONIC);
}

double Leases::held_time() const {
  return rules_.clock ? rules_.clock() : seconds_of(CLOCK_BOOTTIME);
}

fs::path Leases::file_of(const std::string& job, int64_t number) const {
  return directory_ / fmt::format("{}.{}", job, number);
}

// As long at every beat.
std::string Leases::text_of(const Held& held, bool given_back) const {
  return fmt::format("{} {} {:010} {} {} {}\n", given_back ? kFree : kHeld, rules_.grace,
                     held.beats, held.token, rules_.machine, process_);
}

bool Leases::is_known(const std::string& job) const {
  return seen_.contains(job) || is_there(file_of(job, 1));
}

Leases::Seen& Leases::look(const std::string& job) {
  Seen& seen = seen_[job];
  const auto note = [&](std::string text) {
    seen.text = std::move(text);
    seen.since = watched_time();
  };
  while (std::optional<std::string> next = text_in(file_of(job, seen.number + 1))) {
    ++seen.number;
    note(std::move(*next));
  }
  if (seen.number == 0) return seen;
  std::optional<std::string> now = text_in(file_of(job, seen.number));
  if (now && *now != seen.text) note(std::move(*now));
  return seen;
}

bool Leases::is_dead(const Seen& seen, const Written& written) const {
  if (written.whole && written.machine == rules_.machine)
    return is_process_gone(written.process, written.start);
  return watched_time() - seen.since >= (written.whole ? written.grace : rules_.grace);
}

std::optional<LeaseHolder> Leases::holder(const std::string& job) {
  const Seen& seen = look(job);
  if (seen.number == 0) return std::nullopt;
  const Written written(seen.text);
  if (written.state == kFree || is_dead(seen, written)) return std::nullopt;
  return LeaseHolder{written.machine.substr(0, written.machine.find('/')), written.process};
}

Leases::Taken Leases::take(const std::string& job) {
  const Seen& seen = look(job);
  const Written before(seen.text);
  const bool is_free = seen.number == 0 || before.state == kFree;
  if (!is_free && !is_dead(seen, before)) return Taken::no;

  Held held{.file = file_of(job, seen.number + 1),
            .next = file_of(job, seen.number + 2),
            .token = new_token(),
            .beaten = held_time()};
  const FileDescriptor out(
      ::open(held.file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (out.get() < 0 && errno == EEXIST) return Taken::no;
  if (out.get() < 0 || !write_whole(out.get(), text_of(held, false)))
    fail_io("cannot write", held.file);
  const std::lock_guard lock(mutex_);
  held_[job] = std::move(held);
  return is_free ? Taken::yes : Taken::from_the_dead;
}

bool Leases::holds(const std::string& job) const {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(job);
  return found != held_.end() && !found->second.lost &&
         held_time() - found->second.beaten < rules_.grace / 2;
}

void Leases::give_back(const std::string& job) {
  const std::lock_guard turn(writing_);
  const bool mine = holds(job);
  Held held;
  {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(job);
    if (found == held_.end()) return;
    held = std::move(found->second);
    held_.erase(found);
  }
  if (!mine) return;
  const FileDescriptor out(::open(held.file.c_str(), O_WRONLY | O_CLOEXEC));
  if (out.get() < 0 || !write_whole(out.get(), text_of(held, true)))
    fail_io("cannot write", held.file);
}

// False where the lease is somebody else's, or the file nobody's.
bool Leases::write_beat(const Held& held) const {
  const FileDescriptor file(::open(held.file.c_str(), O_RDWR | O_CLOEXEC));
  if (file.get() < 0) return errno != ENOENT;
  const std::optional<std::string> text = text_in(held.file);
  if (!text || Written(*text).token != held.token || is_there(held.next)) return false;
  if (!write_whole(file.get(), text_of(held, false))) fail_io("cannot write", held.file);
  return true;
}

void Leases::beat() {
  std::map<std::string, Held> held;
  {
    const std::lock_guard lock(mutex_);
    held = held_;
  }
  for (auto& [job, copy] : held) {
    // One at a time: what has been given back meanwhile must not be written any more.
    const std::lock_guard turn(writing_);
    const double began = held_time();
    const bool in_time = holds(job);
    ++copy.beats;
    bool lost = !in_time, written = false;
    try {
      const bool mine = in_time && write_beat(copy);
      lost = !mine;
      written = mine;
    } catch (const Error&) {  // it may do so the next time; if not, time will tell
    }
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(job);
    if (found == held_.end() || found->second.token != copy.token) continue;
    found->second.lost = found->second.lost || lost;
    if (!written) continue;
    found->second.beats = copy.beats;
    found->second.beaten = began;
  }
}

LeaseHeart::LeaseHeart(Leases& leases) {
  const std::chrono::duration<double> pause(leases.grace() / kBeatsPerGrace);
  thread_ = std::thread([this, &leases, pause] {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, pause, [this] { return over_; })) {
      lock.unlock();
      leases.beat();
      lock.lock();
    }
  });
}

LeaseHeart::~LeaseHeart() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

}  // namespace gh::host
