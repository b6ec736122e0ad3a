#include "run/run_directory.hpp"

#include "plugins/file_descriptor.hpp"

#include "gh/error.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace gh::host {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void fail_io(std::string_view what, const fs::path& file) {
  const int error = errno;
  std::string hint;
  if (error == ENOSPC) hint = "; free some space and run again";
  fail(ErrorCode::io, what, " ", file.string(), ": ", std::strerror(error), hint);
}

void write_all(int fd, std::string_view content, const fs::path& file) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_io("cannot write", file);
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fsync(fd) != 0) fail_io("cannot sync", file);
}

std::string slug(const std::string& name) {
  std::string out;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)))
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out.empty() ? "run" : out;
}

// Creates exactly this directory; false when something of that name exists.
bool make_directory(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error)
    fail(ErrorCode::io, "cannot create ", path.parent_path().string(), ": ", error.message());
  const bool made = fs::create_directory(path, error);
  if (error && !fs::exists(path))
    fail(ErrorCode::io, "cannot create ", path.string(), ": ", error.message());
  return made && !error;
}

fs::path next_free(const std::string& name) {
  for (int i = 1; i < 100000; ++i) {
    const fs::path candidate = fs::absolute(fmt::format("runs/{}-{:03}", slug(name), i));
    if (make_directory(candidate)) return candidate;
  }
  fail(ErrorCode::io, "no free name under runs/ for '", name, "'; give one with --out");
}

std::ofstream open_append(const fs::path& file) {
  std::ofstream out(file, std::ios::app);
  if (!out) fail_io("cannot open", file);
  return out;
}

void append_line(std::ofstream& out, std::string_view line, const fs::path& file) {
  out << line << '\n' << std::flush;
  if (!out) fail_io("cannot write", file);
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

void write_file_atomically(const fs::path& file, std::string_view content) {
  fs::path temporary = file;
  temporary += ".tmp";
  try {
    const FileDescriptor out(
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (out.get() < 0) fail_io("cannot create", temporary);
    write_all(out.get(), content, temporary);
    if (::rename(temporary.c_str(), file.c_str()) != 0) fail_io("cannot replace", file);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  const FileDescriptor directory(
      ::open(file.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() >= 0) ::fsync(directory.get());
}

RunDirectory::RunDirectory(fs::path path) : path_(std::move(path)) {
  metrics_ = open_append(path_ / "metrics.jsonl");
  log_ = open_append(path_ / "train.log");
}

RunDirectory RunDirectory::create(const fs::path& wanted, const std::string& name) {
  if (wanted.empty()) return RunDirectory(next_free(name));
  const fs::path path = fs::absolute(wanted).lexically_normal();
  if (!make_directory(path)) {
    if (!fs::is_directory(path))
      fail(ErrorCode::io, path.string(), " exists and is not a directory");
    if (!fs::is_empty(path))
      fail(ErrorCode::io, path.string(),
           " exists and is not empty; give another --out or remove it first");
  }
  return RunDirectory(path);
}

void RunDirectory::write_text(std::string_view name, std::string_view content) {
  write_file_atomically(path_ / name, content);
}

void RunDirectory::write_json(std::string_view name, const nlohmann::ordered_json& content) {
  write_text(name, content.dump(2) + "\n");
}

void RunDirectory::append_metrics(const nlohmann::ordered_json& line) {
  append_line(metrics_, line.dump(), path_ / "metrics.jsonl");
}

void RunDirectory::log(std::string_view line) {
  append_line(log_, fmt::format("{} {}", utc_now(), line), path_ / "train.log");
}

void RunDirectory::write_result(nlohmann::ordered_json result,
                                const std::vector<Picture>& pictures) {
  fs::create_directories(path_ / "results");
  const std::string stem =
      fmt::format("results/{:02}-{}-{}", results_++, result["moment"].get<std::string>(),
                  slug(result["evaluator"].get<std::string>()));
  result["pictures"] = nlohmann::ordered_json::array();
  for (const Picture& picture : pictures) {
    const std::string extension = picture.mime == "image/svg+xml" ? "svg" : "png";
    const std::string file = fmt::format("{}-{}.{}", stem, slug(picture.name), extension);
    write_text(file, picture.bytes);
    result["pictures"].push_back({{"name", picture.name},
                                  {"caption", picture.caption},
                                  {"mime", picture.mime},
                                  {"file", file}});
  }
  write_json(stem + ".json", result);
}

RunStatus::RunStatus(RunDirectory& directory) : directory_(directory), started_(seconds_now()) {
  status_ = {{"state", "running"}, {"stage", ""},   {"epoch", 0},     {"epochs", 0},
             {"message", ""},      {"updated", ""}, {"seconds", 0.0}, {"pid", ::getpid()}};
  write();
}

void RunStatus::running(std::string_view stage, int64_t epoch, int64_t epochs) {
  status_["stage"] = stage;
  status_["epoch"] = epoch;
  status_["epochs"] = epochs;
  if (seconds_now() - written_ >= 1) write();
}

void RunStatus::ended(std::string_view state, std::string_view message) {
  status_["state"] = state;
  status_["message"] = message;
  write();
}

void RunStatus::write() {
  written_ = seconds_now();
  status_["updated"] = utc_now();
  status_["seconds"] = written_ - started_;
  directory_.write_json("status.json", status_);
}

std::string utc_now() {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(now)));
}

}  // namespace gh::host
