#include "run/run_directory.hpp"

#include "run/last_words.hpp"
#include "text/json.hpp"
#include "text/plain_text.hpp"

#include "gh/error.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iterator>

namespace gh::host {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kAfterwards = "afterwards";
constexpr std::chrono::seconds kHeartbeat{2};

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

// That a file of metrics has the lines that it had when a checkpoint was made, `bytes` long.
void require_lines(const fs::path& metrics, int64_t bytes) {
  require(static_cast<int64_t>(fs::file_size(metrics)) >= bytes, ErrorCode::io, metrics.string(),
          " has fewer lines than when the checkpoint was made; put it back, or start again in "
          "another directory");
  require(ends_a_line(metrics, bytes), ErrorCode::io, metrics.string(),
          " is not the file that was there when the checkpoint was made: byte ", bytes,
          " ends no line; put it back, or start again in another directory");
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

// Of "07-end-knn.json"; -1: not numbered among the run's own.
int64_t result_number(const std::string& name) {
  return std::isdigit(static_cast<unsigned char>(name[0])) ? std::atoll(name.c_str()) : -1;
}

// The lines of the first `epochs` epochs, and of results from number `first` (those made afterwards
// have −1) to `results`.
std::string timing_lines(const fs::path& file, int64_t epochs, int64_t first, int64_t results) {
  std::string kept, line;
  std::ifstream in(file);
  while (std::getline(in, line) && !in.eof()) {  // a last line without its end was cut off
    const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    const std::string result = json.is_object() ? json.value("result", "") : "";
    const int64_t number = result_number(fs::path(result).filename().string());
    const bool keep = result.empty() ? epochs-- > 0 : number >= first && number < results;
    if (keep) kept += line + "\n";
  }
  return kept;
}

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) fail_io("cannot open", file);
  return {std::istreambuf_iterator<char>(in), {}};
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

void RunDirectory::write_result(nlohmann::ordered_json result, const std::vector<Picture>& pictures,
                                std::optional<double> seconds, const std::vector<File>& files) {
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
  for (const File& each : files) {
    const std::string file = fmt::format("{}-{}.{}", stem, slug(each.name), each.extension);
    write_text(file, each.bytes);
    result["files"].push_back({{"name", each.name}, {"caption", each.caption}, {"file", file}});
  }
  if (seconds)
    append_line(timing_,
                nlohmann::ordered_json{
                    {"result", stem + ".json"}, {"seconds", *seconds}, {"time", utc_now()}}
                    .dump(),
                path_ / "timing.jsonl");
  write_json(stem + ".json", result);
  if (!result.contains("step")) return;
  nlohmann::ordered_json scalars = nlohmann::ordered_json::object();
  for (const auto& metric : result.value("metrics", nlohmann::ordered_json::array()))
    scalars[metric["name"].get<std::string>()] = metric["value"];
  add_events(scalars, fmt::format("{}/{}/", result.value("slot", "eval"), what), result["step"]);
}

std::vector<std::string> RunDirectory::failed_results() const {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(path_ / "results", none))
    if (entry.path().extension() == ".json" && result_number(entry.path().filename()) >= 0)
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> out;
  for (const fs::path& file : files) {
    std::ifstream in(file);
    const auto result = nlohmann::json::parse(in, nullptr, /*allow_exceptions=*/false);
    if (result.is_object() && result.contains("error"))
      out.push_back(fmt::format("{} at {}, epoch {}: {}", result.value("evaluator", ""),
                                result.value("moment", ""), result.value("epoch", 0),
                                result.value("error", "")));
  }
  return out;
}

RunDirectory::Marks RunDirectory::marks() {
  if (!written_) return {};
  for (const char* name : {"metrics.jsonl", "timing.jsonl"}) sync_path(path_ / name);
  return {.metrics_bytes = static_cast<int64_t>(fs::file_size(path_ / "metrics.jsonl")),
          .results = results_};
}

void RunDirectory::begin_as(const fs::path& other, const Marks& marks) {
  if (!written_) return;
  require_lines(other / "metrics.jsonl", marks.metrics_bytes);
  const std::string lines =
      bytes_of(other / "metrics.jsonl").substr(0, static_cast<std::size_t>(marks.metrics_bytes));
  metrics_ << lines << std::flush;
  if (!metrics_) fail_io("cannot write", path_ / "metrics.jsonl");
  timing_ << timing_lines(other / "timing.jsonl", std::count(lines.begin(), lines.end(), '\n'), 0,
                          marks.results)
          << std::flush;
  if (!timing_) fail_io("cannot write", path_ / "timing.jsonl");
  std::error_code none;
  for (const char* folder : {"results", "tensorboard"})
    for (const auto& entry : fs::directory_iterator(other / folder, none)) {
      const fs::path name = entry.path().filename();
      const int64_t number = result_number(name);
      if (folder == std::string_view("results") && (number < 0 || number >= marks.results))
        continue;
      fs::create_directories(path_ / folder);
      write_text((fs::path(folder) / name).string(), bytes_of(entry.path()));
    }
}

void RunDirectory::rewind(const Marks& marks, int64_t step) {
  if (!written_) return;
  const fs::path metrics = path_ / "metrics.jsonl";
  require_lines(metrics, marks.metrics_bytes);
  fs::resize_file(metrics, static_cast<std::uintmax_t>(marks.metrics_bytes));
  timing_.close();
  const fs::path timing = path_ / "timing.jsonl";
  write_file_atomically(timing, timing_lines(timing, count_lines(metrics), -1, marks.results),
                        Durability::renamed);
  timing_ = open_append(path_ / "timing.jsonl");
  MetricsCsv::rebuild(metrics, path_ / "metrics.csv");
  csv_ = std::make_unique<MetricsCsv>(path_ / "metrics.csv");
  events_from_ = step;
  results_ = marks.results;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(path_ / "results", none))
    if (result_number(entry.path().filename()) >= results_) fs::remove(entry.path());
}

RunStatus::RunStatus(RunDirectory& directory) : directory_(directory), started_(seconds_now()) {
  status_ = {{"state", "running"}, {"doing", "training"}, {"stage", ""},
             {"epoch", 0},         {"epochs", 0},         {"step", 0},
             {"steps", 0},         {"message", ""},       {"pid", ::getpid()}};
  if (!directory_.written()) return;
  write(Durability::synced);
  heart_ = std::thread([this] { beat(); });
}

RunStatus::~RunStatus() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  wake_.notify_all();
  if (heart_.joinable()) heart_.join();
  if (directory_.written()) forget_last_words();
}

// Steps and evaluations can be long: whoever watches the file must see that the run lives.
void RunStatus::beat() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kHeartbeat, [this] { return over_; })) {
    if (last_words_spoken()) return;  // the process is ending
    if (seconds_now() - written_ < std::chrono::duration<double>(kHeartbeat).count()) continue;
    try {
      write(Durability::renamed);
    } catch (const std::exception&) {  // the training thread will find out when it writes
    }
  }
}

void RunStatus::running(const RunProgress& progress) {
  const std::lock_guard lock(mutex_);
  status_["stage"] = progress.stage;
  status_["epoch"] = progress.epoch;
  status_["epochs"] = progress.epochs;
  status_["step"] = progress.step;
  status_["steps"] = progress.steps;
  status_["loss"] = json_number(progress.loss);
  status_["lr"] = json_number(progress.rate);
  status_["samples_per_second"] = json_number(progress.samples_per_second);
  status_["seconds_left"] = json_number(progress.seconds_left);
  if (seconds_now() - written_ >= std::chrono::duration<double>(kHeartbeat).count())
    write(Durability::renamed);
}

void RunStatus::doing(std::string_view what) {
  const std::lock_guard lock(mutex_);
  if (status_["doing"].get<std::string>() == what) return;
  status_["doing"] = what;
  write(Durability::renamed);
}

void RunStatus::ended(std::string_view state, std::string_view message) {
  const std::lock_guard lock(mutex_);
  over_ = true;
  status_["state"] = state;
  status_["doing"] = "";
  status_["message"] = message;
  write(Durability::synced);
  if (directory_.written()) forget_last_words();
}

// Under the lock.
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
