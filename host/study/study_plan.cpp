#include "study/study_plan.hpp"

#include "files/file_write.hpp"
#include "recipe/difference.hpp"
#include "recipe/toml.hpp"
#include "study/nearest_run.hpp"
#include "study/run_state.hpp"
#include "study/trunks.hpp"

#include "gh/error.hpp"
#include "gh/regular_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <system_error>

namespace gh::host {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kIdDigits = 16;

// What can be part of a path wherever that is put: "gh-weight-0.5".
std::string path_word(const std::string& text) {
  constexpr std::size_t kMost = 60;
  std::string out;
  for (const unsigned char c : text) {
    if (std::isalnum(c) || (c == '.' && !out.empty()))
      out += static_cast<char>(std::tolower(c));
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  out.resize(std::min(out.size(), kMost));
  while (out.ends_with('-') || out.ends_with('.')) out.pop_back();
  return out.empty() ? "run" : out;
}

// Run directories of a study that are there, by the id at the end of their names.
std::map<std::string, std::string> directories_there(const fs::path& study) {
  std::map<std::string, std::string> out;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(study / "runs", none)) {
    const std::string name = entry.path().filename().string();
    if (name.size() > kIdDigits && name[name.size() - kIdDigits - 1] == '-')
      out[name.substr(name.size() - kIdDigits)] = "runs/" + name;
  }
  return out;
}

// Epochs with which jobs of the list that is there were to begin, by id.
std::map<std::string, int64_t> beginnings_there(const fs::path& study) {
  std::map<std::string, int64_t> out;
  try {
    for (const Job& job : read_jobs(study).jobs)
      if (job.from_epoch > 0) out[job.id] = job.from_epoch;
  } catch (const Error&) {  // none, or it is damaged
  }
  return out;
}

int64_t steps_per_epoch(const Recipe& recipe, int64_t samples) {
  const int64_t batch = recipe.integer("train.batch");
  return recipe.boolean("train.drop_last") ? samples / batch : (samples + batch - 1) / batch;
}

// "a; b; c", and how many more there are.
std::string some_of(const std::vector<std::string>& labels) {
  constexpr std::size_t kShown = 10;
  const std::size_t shown = std::min(kShown, labels.size());
  const auto end = labels.begin() + static_cast<std::ptrdiff_t>(shown);
  std::string out = fmt::format("{}", fmt::join(labels.begin(), end, "; "));
  if (shown < labels.size()) out += fmt::format(" and {} more", labels.size() - shown);
  return out;
}

class Planner {
 public:
  explicit Planner(const PlanRequest& request)
      : request_(request),
        there_(directories_there(request.directory)),
        began_at_(beginnings_there(request.directory)) {}

  StudyPlan run() {
    read_data();
    headings();
    for (const StudyRow& row : request_.rows) classes_.push_back(cost_class(row.recipe));
    trunks_ = trunks_of_rows(request_.rows, identities_, [&](std::size_t row, int64_t epochs) {
      return identity_text_until(request_.rows[row].recipe, epochs, facts_[row].fingerprint,
                                 request_.plugin_of, request_.builds);
    });
    for (const int64_t seed : request_.seeds) add_trunks(seed);
    for (std::size_t row = 0; row < request_.rows.size(); ++row)
      for (std::size_t seed = 0; seed < request_.seeds.size(); ++seed) add_run(row, seed);
    plan_.list.mark_repeated();
    look_at_directory();
    drop_needless_trunks();
    find_nearest(request_.rows, request_.directory, plan_);
    return std::move(plan_);
  }

 private:
  // One after the other, and all that is missing at once.
  void read_data() {
    std::map<std::string, std::vector<std::string>> missing;
    for (const StudyRow& row : request_.rows) {
      try {
        facts_.push_back(request_.data.of(row.recipe));
      } catch (const Error& error) {
        if (error.code() != ErrorCode::missing_data) throw;
        missing[error.what()].push_back(row.label);
        continue;
      }
      identities_.push_back(identity_text(row.recipe, facts_.back().fingerprint, request_.plugin_of,
                                          request_.builds));
    }
    std::string text;
    for (const auto& [what, labels] : missing)
      text += fmt::format("\n  {}\n    needed by {}", what, some_of(labels));
    require(missing.empty(), ErrorCode::missing_data, "data are not there:", text);
  }

  void headings() {
    const StudyFile& study = request_.study;
    JobList& list = plan_.list;
    list.name = study.name;
    list.file = fs::absolute(study.file).lexically_normal().string();
    list.baseline = study.baseline;
    list.metrics = study.metrics;
    list.layout = study.layout;
    list.blocks = study.blocks;
    list.retries = study.retries;
    list.scale = request_.scale;
    list.plugins = request_.plugins;
    list.plugin_rules = request_.plugin_rules;
  }

  // Where it lies already, also as that of an earlier row.
  std::string directory_of(const std::string& id, const std::string& words) {
    const auto [at, fresh] = there_.try_emplace(id);
    if (fresh) at->second = fmt::format("runs/{}-{}", path_word(words), id);
    return at->second;
  }

  PlannedJob planned(std::size_t row, int64_t epochs) const {
    const Recipe& recipe = request_.rows[row].recipe;
    PlannedJob out;
    out.row = row;
    out.steps = steps_per_epoch(recipe, facts_[row].samples) * epochs;
    out.cost_class = classes_[row];
    return out;
  }

  void add_trunks(int64_t seed) {
    const auto id_of = [&](const RowTrunk& trunk) { return run_id(trunk.identity, seed); };
    for (const RowTrunk& trunk : trunks_.trunks) {
      Job job;
      job.id = id_of(trunk);
      job.label = fmt::format("shared, {} epochs", trunk.until);
      job.seed = std::to_string(seed);
      job.recipe = "recipes/" + job.id + ".toml";
      job.directory = directory_of(job.id, fmt::format("shared {} seed {}", trunk.until, seed));
      job.epochs = request_.rows[trunk.row].recipe.integer("train.epochs");
      job.until = trunk.until;
      if (trunk.parent) {
        job.from = id_of(trunks_.trunks[*trunk.parent]);
        job.from_epoch = trunks_.trunks[*trunk.parent].until;
      }
      plan_.jobs.push_back(planned(trunk.row, job.until - job.from_epoch));
      plan_.list.jobs.push_back(std::move(job));
    }
  }

  void add_run(std::size_t index, std::size_t seed_index) {
    const StudyRow& row = request_.rows[index];
    const int64_t seed = request_.seeds[seed_index];
    Job job;
    job.id = run_id(identities_[index], seed);
    job.label = row.label;
    job.arm = request_.study.arms[row.arm].label;
    job.axes = row.axes;
    job.seed = std::to_string(seed);
    job.baseline = row.baseline;
    job.recipe = "recipes/" + job.id + ".toml";
    job.directory = directory_of(job.id, fmt::format("{} seed {}", row.label, seed));
    job.epochs = row.recipe.integer("train.epochs");
    job.unintended = row.unintended;
    job.scaled = row.scaled;
    if (const std::optional<std::size_t> trunk = trunks_.of_row[index]) {
      job.from = run_id(trunks_.trunks[*trunk].identity, seed);
      job.from_epoch = trunks_.trunks[*trunk].until;
    }
    plan_.jobs.push_back(planned(index, job.epochs - job.from_epoch));
    plan_.list.jobs.push_back(std::move(job));
  }

  void look_at_directory() {
    std::set<std::string> wanted;
    for (std::size_t i = 0; i < plan_.jobs.size(); ++i) {
      const Job& job = plan_.list.jobs[i];
      wanted.insert(job.directory);
      const RunState state = state_of(request_.directory, job, request_.study.retries);
      plan_.jobs[i].state = state.state;
      plan_.jobs[i].why = state.why;
      plan_.jobs[i].epochs_done = state.epochs;
    }
    for (const auto& [id, directory] : there_)
      if (!wanted.contains(directory)) plan_.dropped.push_back(directory);
  }

  // A trunk is worth its while for two runs that are new, or where it is there already. A run that
  // has begun by itself goes on by itself.
  void drop_needless_trunks() {
    std::vector<Job>& jobs = plan_.list.jobs;
    std::map<std::string, std::size_t> trunk;
    for (std::size_t i = 0; i < jobs.size() && jobs[i].until > 0; ++i) trunk[jobs[i].id] = i;
    std::vector<int64_t> users(trunk.size(), 0);
    std::vector<char> kept(trunk.size(), 0);
    const auto use = [&](std::size_t i) {
      const bool begins = plan_.jobs[i].state == ArmState::fresh && !jobs[i].repeated;
      if (begins && !jobs[i].from.empty()) ++users[trunk.at(jobs[i].from)];
    };
    for (std::size_t i = trunk.size(); i < jobs.size(); ++i) use(i);
    for (std::size_t i = trunk.size(); i-- > 0;) {  // parents stand before what is within them
      kept[i] = users[i] >= 2 || (users[i] == 1 && plan_.jobs[i].state != ArmState::fresh);
      if (kept[i]) {
        use(i);
      } else if (users[i] == 1 && !jobs[i].from.empty()) {
        ++users[trunk.at(jobs[i].from)];  // its one user begins with the parent
      }
    }
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const bool begins = plan_.jobs[i].state == ArmState::fresh;
      while (!jobs[i].from.empty() && (!begins || !kept[trunk.at(jobs[i].from)])) {
        const Job& skipped = jobs[trunk.at(jobs[i].from)];
        jobs[i].from_epoch = begins ? skipped.from_epoch : own_beginning(i);
        jobs[i].from = begins ? skipped.from : "";
      }
      const int64_t end = jobs[i].until > 0 ? jobs[i].until : jobs[i].epochs;
      plan_.jobs[i].steps = planned(plan_.jobs[i].row, end - jobs[i].from_epoch).steps;
      if (i >= trunk.size() && begins && !jobs[i].repeated)
        plan_.epochs_saved += jobs[i].from_epoch;
    }
    erase_trunks(kept);
  }

  // Of a run that goes on: what it began with, if it is beyond that.
  int64_t own_beginning(std::size_t index) const {
    const auto began = began_at_.find(plan_.list.jobs[index].id);
    const bool is_beyond =
        began != began_at_.end() && plan_.jobs[index].epochs_done >= began->second;
    return is_beyond ? began->second : 0;
  }

  // Also those of which all that they were for is done.
  void erase_trunks(const std::vector<char>& kept) {
    for (std::size_t i = kept.size(); i-- > 0;) {
      if (kept[i]) {
        const PlannedJob& job = plan_.jobs[i];
        if (job.state == ArmState::fresh)
          plan_.epochs_saved -= plan_.list.jobs[i].until - plan_.list.jobs[i].from_epoch;
        continue;
      }
      plan_.list.jobs.erase(plan_.list.jobs.begin() + static_cast<std::ptrdiff_t>(i));
      plan_.jobs.erase(plan_.jobs.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  const PlanRequest& request_;
  std::map<std::string, std::string> there_;  // run directories by id
  std::map<std::string, int64_t> began_at_;   // epochs that runs did not train themselves, by id
  std::vector<DataFact> facts_;               // of rows
  std::vector<std::string> identities_;       // of rows
  std::vector<std::string> classes_;          // of rows
  RowTrunks trunks_;
  StudyPlan plan_;
};

void write_if_other(const fs::path& file, const std::string& text) {
  std::ifstream in(file, std::ios::binary);
  if (in && std::string(std::istreambuf_iterator<char>(in), {}) == text) return;
  write_shared_file(file, text, Durability::renamed);
}

void make_directory(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  require(!error, ErrorCode::io, "cannot create ", path.string(), ": ", error.message());
}

}  // namespace

StudyPlan make_plan(const PlanRequest& request) { return Planner(request).run(); }

void read_finished(const StudyPlan& plan, const fs::path& directory, Costs& costs) {
  for (std::size_t i = 0; i < plan.jobs.size(); ++i)
    if (plan.jobs[i].state == ArmState::done && plan.list.jobs[i].until == 0)
      costs.add_finished(plan.jobs[i].cost_class, directory / plan.list.jobs[i].directory);
}

void estimate(StudyPlan& plan, const Costs& costs) {
  plan.left = {};
  std::set<std::string> classes;
  for (std::size_t i = 0; i < plan.jobs.size(); ++i) {
    Job& job = plan.list.jobs[i];
    const PlannedJob& planned = plan.jobs[i];
    const std::optional<Cost> cost = costs.of(planned.cost_class);
    const int64_t end = job.until > 0 ? job.until : job.epochs;
    if (cost) job.seconds = seconds_of(*cost, end - job.from_epoch, job.until == 0);
    if (planned.state == ArmState::done || job.repeated) continue;
    const int64_t all = std::max<int64_t>(1, end - job.from_epoch);
    const int64_t done = std::clamp<int64_t>(planned.epochs_done - job.from_epoch, 0, all);
    const double part = 1 - static_cast<double>(done) / static_cast<double>(all);
    plan.left.runs += 1;
    plan.left.epochs += all - done;
    plan.left.steps += static_cast<int64_t>(static_cast<double>(planned.steps) * part);
    plan.left.unknown += cost ? 0 : 1;
    if (!cost) continue;
    plan.left.seconds += job.seconds * part;
    plan.left.disk += cost->disk;
    plan.left.memory = std::max(plan.left.memory, cost->memory);
    if (classes.insert(planned.cost_class).second) plan.left.finished += cost->runs;
  }
}

void write_plan(const PlanRequest& request, const StudyPlan& plan) {
  const fs::path& directory = request.directory;
  make_directory(directory / "recipes");
  for (std::size_t i = 0; i < plan.jobs.size(); ++i) {
    const Job& job = plan.list.jobs[i];
    if (job.repeated) continue;
    // What a trunk is to do after its end is any row's. It may have begun with another one's, and a
    // run goes on with its own recipe only.
    if (job.until > 0 && fs::exists(directory / job.recipe)) continue;
    Recipe recipe = with_seed(request.rows[plan.jobs[i].row].recipe, std::stoll(job.seed));
    recipe.resolved.set("name", Value{job.label, {}});
    write_if_other(directory / job.recipe, to_toml(recipe.resolved));
  }
  write_if_other(directory / "study.toml", read_regular_file(request.study.file.string()));
  write_jobs(directory, plan.list);
}

}  // namespace gh::host
