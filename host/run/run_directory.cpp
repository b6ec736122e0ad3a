#include "run/run_directory.hpp"

#include "run/last_words.hpp"
#include "text/json.hpp"
#include "text/plain_text.hpp"

#include "gh/error.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace gh::host {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kAfterwards = "afterwards";

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
}

// Best effort: some file systems cannot sync a directory.
void sync_path(const fs::path& path) {
  const FileDescriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (opened.get() >= 0) ::fsync(opened.get());
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

fs::path numbered(const std::string& name, int64_t number) {
  return fs::absolute(fmt::format("runs/{}-{:03}", slug(name), number));
}

// The highest number of runs/<slug of name>-NNN; 0: there is none. Runs may have been removed from
// between the others.
int64_t highest_number(const std::string& name) {
  const std::string prefix = slug(name) + "-";
  int64_t highest = 0;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator("runs", none)) {
    const std::string file = entry.path().filename();
    if (!file.starts_with(prefix) || !entry.is_directory()) continue;
    const char *begin = file.data() + prefix.size(), *end = file.data() + file.size();
    int64_t number = 0;
    const auto [stop, error] = std::from_chars(begin, end, number);
    if (error != std::errc() || stop != end || numbered(name, number).filename() != file) continue;
    highest = std::max(highest, number);
  }
  return highest;
}

fs::path next_free(const std::string& name) {
  for (int64_t i = highest_number(name) + 1;; ++i)
    if (const fs::path candidate = numbered(name, i); make_directory(candidate)) return candidate;
}

// Of a run that begins. Another process may look at the same time, so the lock comes first; but
// nothing is put into a directory that holds something else.
bool is_fresh(const fs::path& directory) {
  return std::all_of(fs::directory_iterator(directory), fs::directory_iterator(),
                     [](const auto& entry) { return RunLock::is_own(entry.path().filename()); });
}

// Whether the first `bytes` of a file are whole lines.
bool ends_a_line(const fs::path& file, int64_t bytes) {
  std::ifstream in(file);
  return bytes == 0 || (in.seekg(bytes - 1) && in.get() == '\n');
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

int64_t count_lines(const fs::path& file) {
  std::ifstream in(file);
  return std::count(std::istreambuf_iterator<char>(in), {}, '\n');
}

// Cuts a file after its first `lines` lines.
void keep_lines(const fs::path& file, int64_t lines) {
  std::ifstream in(file);
  std::uintmax_t bytes = 0;
  std::string line;
  for (int64_t i = 0; i < lines && std::getline(in, line); ++i) bytes += line.size() + 1;
  fs::resize_file(file, std::min(bytes, fs::file_size(file)));
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// "afterwards-001-knn", the first number that no file has.
std::string free_stem(const fs::path& results, const std::string& what) {
  int taken = 0;
  for (const auto& entry : fs::directory_iterator(results)) {
    int number = 0;
    if (std::sscanf(entry.path().filename().c_str(), "afterwards-%d", &number) == 1)
      taken = std::max(taken, number);
  }
  return fmt::format("{}-{:03}-{}", kAfterwards, taken + 1, what);
}

}  // namespace

void write_file_atomically(const fs::path& file, std::string_view content, Durability durability) {
  const bool synced = durability == Durability::synced;
  fs::path temporary = file;
  temporary += ".tmp";
  try {
    const FileDescriptor out(
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (out.get() < 0) fail_io("cannot create", temporary);
    write_all(out.get(), content, temporary);
    if (synced && ::fsync(out.get()) != 0) fail_io("cannot sync", temporary);
    if (::rename(temporary.c_str(), file.c_str()) != 0) fail_io("cannot replace", file);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  if (synced) sync_path(file.parent_path());
}

RunDirectory::RunDirectory(fs::path path, bool written)
    : path_(std::move(path)), written_(written) {
  if (written_) lock_ = RunLock(path_);
}

void RunDirectory::open_files() {
  metrics_ = open_append(path_ / "metrics.jsonl");
  timing_ = open_append(path_ / "timing.jsonl");
  log_ = open_append(path_ / "train.log");
  csv_ = std::make_unique<MetricsCsv>(path_ / "metrics.csv");
}

RunDirectory RunDirectory::create(const fs::path& wanted, const std::string& name) {
  fs::path path = wanted.empty() ? next_free(name) : fs::absolute(wanted).lexically_normal();
  if (!wanted.empty() && !make_directory(path) && !fs::is_directory(path))
    fail(ErrorCode::io, path.string(), " exists and is not a directory");
  const auto require_fresh = [&path] {
    require(is_fresh(path), ErrorCode::io, path.string(),
            " exists and is not empty; go on with the run in it with --resume, give another --out, "
            "or remove it first");
  };
  if (!RunLock::has_been_in(path)) require_fresh();
  RunDirectory out(path, true);
  require_fresh();
  out.open_files();
  return out;
}

RunDirectory RunDirectory::reopen(const fs::path& path) {
  RunDirectory out(fs::absolute(path).lexically_normal(), true);
  out.open_files();
  return out;
}

RunDirectory RunDirectory::unwritten(const fs::path& path) { return RunDirectory(path, false); }

fs::path RunDirectory::latest(const std::string& name) {
  const int64_t highest = highest_number(name);
  return highest > 0 ? numbered(name, highest) : fs::path();
}

void RunDirectory::write_text(std::string_view name, std::string_view content,
                              Durability durability) {
  if (written_) write_file_atomically(path_ / name, content, durability);
}

void RunDirectory::write_json(std::string_view name, const nlohmann::ordered_json& content,
                              Durability durability) {
  write_text(name, json_text(content, 2) + "\n", durability);
}

void RunDirectory::append_metrics(const nlohmann::ordered_json& line, int64_t step) {
  if (!written_) return;
  append_line(metrics_, json_text(line), path_ / "metrics.jsonl");
  csv_->add(line);
  add_events(line, "", step);
}

void RunDirectory::append_timing(const nlohmann::ordered_json& line, int64_t step) {
  if (!written_) return;
  append_line(timing_, json_text(line), path_ / "timing.jsonl");
  add_events(line, "time/", step);
}

void RunDirectory::add_events(const nlohmann::ordered_json& line, const std::string& prefix,
                              int64_t step) {
  if (!events_) events_ = std::make_unique<EventWriter>(path_ / "tensorboard", events_from_);
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  for (const auto& [key, value] : line.items())
    if (value.is_number_float()) events_->scalar(prefix + key, step, value.get<double>(), now);
  events_->flush();
}

void RunDirectory::log(std::string_view line) {
  if (written_)
    append_line(log_, fmt::format("{} {}", utc_now(), printable(line)), path_ / "train.log");
}

void RunDirectory::write_result(nlohmann::ordered_json result,
                                const std::vector<Picture>& pictures) {
  if (!written_) return;
  fs::create_directories(path_ / "results");
  const std::string moment = result["moment"];
  const std::string what = slug(result["evaluator"].get<std::string>());
  const std::string stem = moment == kAfterwards
                               ? fmt::format("results/{}", free_stem(path_ / "results", what))
                               : fmt::format("results/{:02}-{}-{}", results_++, moment, what);
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
  if (!result.contains("step")) return;
  nlohmann::ordered_json scalars = nlohmann::ordered_json::object();
  for (const auto& metric : result.value("metrics", nlohmann::ordered_json::array()))
    scalars[metric["name"].get<std::string>()] = metric["value"];
  add_events(scalars, fmt::format("{}/{}/", result.value("slot", "eval"), what), result["step"]);
}

RunDirectory::Marks RunDirectory::marks() {
  if (!written_) return {};
  for (const char* name : {"metrics.jsonl", "timing.jsonl"}) sync_path(path_ / name);
  return {.metrics_bytes = static_cast<int64_t>(fs::file_size(path_ / "metrics.jsonl")),
          .results = results_};
}

void RunDirectory::rewind(const Marks& marks, int64_t step) {
  if (!written_) return;
  const fs::path metrics = path_ / "metrics.jsonl";
  require(static_cast<int64_t>(fs::file_size(metrics)) >= marks.metrics_bytes, ErrorCode::io,
          metrics.string(),
          " has fewer lines than when the checkpoint was made; put it back, or start again in "
          "another directory");
  require(ends_a_line(metrics, marks.metrics_bytes), ErrorCode::io, metrics.string(),
          " is not the file that was there when the checkpoint was made: byte ",
          marks.metrics_bytes, " ends no line; put it back, or start again in another directory");
  fs::resize_file(metrics, static_cast<std::uintmax_t>(marks.metrics_bytes));
  keep_lines(path_ / "timing.jsonl", count_lines(metrics));
  MetricsCsv::rebuild(metrics, path_ / "metrics.csv");
  csv_ = std::make_unique<MetricsCsv>(path_ / "metrics.csv");
  events_from_ = step;
  results_ = marks.results;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(path_ / "results", none))
    if (const std::string name = entry.path().filename();
        std::isdigit(static_cast<unsigned char>(name[0])) && std::atoll(name.c_str()) >= results_)
      fs::remove(entry.path());
}

RunStatus::RunStatus(RunDirectory& directory) : directory_(directory), started_(seconds_now()) {
  status_ = {{"state", "running"}, {"stage", ""}, {"epoch", 0},    {"epochs", 0},
             {"step", 0},          {"steps", 0},  {"message", ""}, {"pid", ::getpid()}};
  write(Durability::synced);
}

void RunStatus::running(const RunProgress& progress) {
  status_["stage"] = progress.stage;
  status_["epoch"] = progress.epoch;
  status_["epochs"] = progress.epochs;
  status_["step"] = progress.step;
  status_["steps"] = progress.steps;
  status_["loss"] = json_number(progress.loss);
  status_["lr"] = json_number(progress.rate);
  status_["samples_per_second"] = json_number(progress.samples_per_second);
  status_["seconds_left"] = json_number(progress.seconds_left);
  if (seconds_now() - written_ >= 2) write(Durability::renamed);
}

void RunStatus::ended(std::string_view state, std::string_view message) {
  status_["state"] = state;
  status_["message"] = message;
  write(Durability::synced);
  if (directory_.written()) forget_last_words();
}

RunStatus::~RunStatus() {
  if (directory_.written()) forget_last_words();
}

void RunStatus::write(Durability durability) {
  written_ = seconds_now();
  status_["updated"] = utc_now();
  status_["seconds"] = written_ - started_;
  directory_.write_json("status.json", status_, durability);
  if (directory_.written()) prepare_last_words(directory_.path() / "status.json", status_);
}

nlohmann::ordered_json json_number(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

std::string utc_now() {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(now)));
}

}  // namespace gh::host
