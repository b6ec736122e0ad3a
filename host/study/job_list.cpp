#include "study/job_list.hpp"

#include "files/file_write.hpp"
#include "text/json.hpp"

#include "gh/error.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <unordered_set>

namespace gh::host {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kFile = "jobs.json";
constexpr int kFormat = 1;

// Calls `field` with the name and the value of everything a job has, to write it or to read it.
template <class AnyJob, class Field>
void each_field(AnyJob& job, const Field& field) {
  field("id", job.id);
  field("label", job.label);
  field("arm", job.arm);
  field("axes", job.axes);
  field("seed", job.seed);
  field("baseline", job.baseline);
  field("recipe", job.recipe);
  field("directory", job.directory);
  field("epochs", job.epochs);
  field("until", job.until);
  field("from", job.from);
  field("from_epoch", job.from_epoch);
  field("seconds", job.seconds);
  field("unintended", job.unintended);
  field("scaled", job.scaled);
}

template <class AnyList, class Field>
void each_heading(AnyList& list, const Field& field) {
  field("name", list.name);
  field("file", list.file);
  field("baseline", list.baseline);
  field("metrics", list.metrics);
  field("layout", list.layout);
  field("blocks", list.blocks);
  field("retries", list.retries);
  field("scale", list.scale);
  field("plugins", list.plugins);
  field("plugin_rules", list.plugin_rules);
}

// What is as it is by default stays out: thousands of jobs have to be read in no time.
auto writer(Json& out) {
  return [&out](const char* key, const auto& value) {
    if (value != std::decay_t<decltype(value)>{}) out[key] = value;
  };
}

auto reader(const Json& in) {
  return [&in](const char* key, auto& value) {
    using Field = std::decay_t<decltype(value)>;
    const auto found = in.find(key);
    value = found == in.end() ? Field{} : found->template get<Field>();
  };
}

// Whoever works on a study writes below its directory and nowhere else.
void require_inside(const std::string& path) {
  const fs::path plain = fs::path(path).lexically_normal();
  require(!plain.empty() && plain.is_relative() && *plain.begin() != "..", ErrorCode::invalid_param,
          "leads out of the study's directory: \"", path, "\"");
}

JobList list_in(const Json& json) {
  require(json.at("format").get<int>() == kFormat, ErrorCode::invalid_param,
          "was written by another version; plan the study again");
  JobList list;
  each_heading(list, reader(json));
  for (const Json& entry : json.at("jobs")) {
    Job& job = list.jobs.emplace_back();
    each_field(job, reader(entry));
    require(!job.id.empty(), ErrorCode::invalid_param, "has a job without id");
    require_inside(job.recipe);
    require_inside(job.directory);
  }
  list.mark_repeated();
  return list;
}

}  // namespace

int64_t own_epochs(const Job& job) {
  return std::max<int64_t>(0, (job.until > 0 ? job.until : job.epochs) - job.from_epoch);
}

const Job* JobList::find(const std::string& id) const {
  const auto found =
      std::find_if(jobs.begin(), jobs.end(), [&](const Job& j) { return j.id == id; });
  return found == jobs.end() ? nullptr : &*found;
}

void JobList::mark_repeated() {
  std::unordered_set<std::string> seen;
  for (Job& job : jobs) job.repeated = !seen.insert(job.id).second;
}

JobList read_jobs(const fs::path& study) {
  const fs::path file = study / kFile;
  std::ifstream in(file, std::ios::binary);
  require(in.is_open(), ErrorCode::missing_data, file.string(),
          " is not there; `ghhost study plan STUDY.toml` makes it");
  const std::string text(std::istreambuf_iterator<char>(in), {});
  try {
    return list_in(parse_json<Json>(text));
  } catch (const nlohmann::json::exception& damage) {
    fail(ErrorCode::invalid_param, file.string(),
         " is damaged; plan the study again: ", damage.what());
  } catch (const Error& wrong) {
    fail(wrong.code(), file.string(), " ", wrong.what());
  }
}

void write_jobs(const fs::path& study, const JobList& list) {
  Json json = {{"format", kFormat}};
  each_heading(list, writer(json));
  Json& jobs = json["jobs"] = Json::array();
  for (const Job& job : list.jobs) each_field(job, writer(jobs.emplace_back(Json::object())));
  write_shared_file(study / kFile, json_text(json, 1) + "\n");
}

}  // namespace gh::host
