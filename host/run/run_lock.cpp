#include "run/run_lock.hpp"

#include "files/process_mark.hpp"

#include "gh/error.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

namespace gh::host {
namespace fs = std::filesystem;
namespace {

constexpr const char* kLock = ".lock";
constexpr const char* kOwner = ".owner";

// What a file system says that has no flock().
bool is_unsupported(int error) {
  return error == ENOLCK || error == ENOSYS || error == ENOTSUP || error == EOPNOTSUPP ||
         error == EINVAL;
}

std::string content_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// "machine process start".
std::string this_process() {
  const int64_t process = ::getpid();
  return machine_name() + ' ' + std::to_string(process) + ' ' + start_of_process(process) + '\n';
}

struct Owner {
  std::string machine, start;
  int64_t process = 0;
};

Owner read_owner(const std::string& text) {
  Owner owner;
  std::istringstream(text) >> owner.machine >> owner.process >> owner.start;
  return owner;
}

bool is_gone(const Owner& owner) {
  const Owner here = read_owner(this_process());
  return owner.machine == here.machine && is_process_gone(owner.process, owner.start);
}

// False when there is one already.
bool create_owner(const fs::path& file) {
  const FileDescriptor out(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (out.get() < 0 && errno == EEXIST) return false;
  const std::string text = this_process();
  require(out.get() >= 0 &&
              ::write(out.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()),
          ErrorCode::io, "cannot write ", file.string(), ": ", std::strerror(errno));
  return true;
}

// Moves a file out of the way whose owner is gone. Another process may do the same at the same
// time: what was moved is looked at again, and put back if its owner lives.
void remove_left_behind(const fs::path& file) {
  if (!is_gone(read_owner(content_of(file)))) return;
  fs::path aside = file;
  aside += ".";
  aside += std::to_string(::getpid());
  if (::rename(file.c_str(), aside.c_str()) != 0) return;
  if (!is_gone(read_owner(content_of(aside)))) ::link(aside.c_str(), file.c_str());
  ::unlink(aside.c_str());
}

}  // namespace

RunLock::RunLock(const fs::path& directory) : RunLock(directory, ::flock) {}

RunLock::RunLock(const fs::path& directory, const Flock& flock) {
  const fs::path file = directory / kLock;
  file_ = FileDescriptor(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  require(file_.get() >= 0, ErrorCode::io, "cannot open ", file.string(), ": ",
          std::strerror(errno));
  int error = 0;
  do {
    error = flock(file_.get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  } while (error == EINTR);
  if (error == 0) return;
  require(error != EWOULDBLOCK, ErrorCode::io, directory.string(),
          " is being written by another process; wait for it or stop it first");
  require(is_unsupported(error), ErrorCode::io, "cannot lock ", file.string(), ": ",
          std::strerror(error));

  const fs::path owner = directory / kOwner;
  remove_left_behind(owner);
  if (!create_owner(owner)) {
    const Owner other = read_owner(content_of(owner));
    fail(ErrorCode::io, directory.string(), " is being written by process ", other.process, " on ",
         other.machine, ", says ", owner.string(),
         " (the file system cannot lock: ", std::strerror(error),
         "); wait for it or stop it first, or remove that file if it is gone");
  }
  owner_ = owner;
  warning_ =
      "the file system of " + directory.string() + " cannot lock (" + std::strerror(error) + "); " +
      kOwner +
      " in it keeps other processes out, and after a crash has to be removed by hand to go on "
      "from another machine";
}

RunLock::~RunLock() {
  if (!owner_.empty()) ::unlink(owner_.c_str());
}

RunLock::RunLock(RunLock&& other) noexcept { *this = std::move(other); }

RunLock& RunLock::operator=(RunLock&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(owner_, other.owner_);
  std::swap(warning_, other.warning_);
  return *this;
}

bool RunLock::has_been_in(const fs::path& directory) { return fs::exists(directory / kLock); }

std::string RunLock::trouble_in(const fs::path& directory) {
  const fs::path file = directory / kLock;
  const FileDescriptor probe(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (probe.get() >= 0 && ::flock(probe.get(), LOCK_SH | LOCK_NB) == 0) return "";
  return probe.get() >= 0 && errno == EWOULDBLOCK ? "" : std::strerror(errno);
}

void RunLock::forget_owner(const fs::path& directory) { ::unlink((directory / kOwner).c_str()); }

bool RunLock::is_own(const fs::path& name) {
  return name == kLock || name.string().starts_with(kOwner);
}

}  // namespace gh::host
