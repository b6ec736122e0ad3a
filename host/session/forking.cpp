#include "session/forking.hpp"

#include "session/assembly.hpp"
#include "session/run_identity.hpp"
#include "session/same_run.hpp"
#include "study/sharing.hpp"
#include "text/json.hpp"
#include "train/position.hpp"
#include "train/state_archive.hpp"

#include "gh/error.hpp"

#include <fmt/format.h>

#include <string_view>

namespace gh::host {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kHarmonize = "harmonize.", kAllocator = "harmonize.allocator.";

// Epochs of the run at whose end a checkpoint was made; nothing of one within an epoch, or after
// the end of training, when the method was told that it is over.
std::optional<int64_t> whole_epochs(const TensorFile& checkpoint,
                                    const std::vector<Stage>& stages) {
  const auto count = static_cast<int64_t>(stages.size());
  const Position at = read_position(checkpoint, count);
  if (at.stage == count || at.steps > 0 || at.epochs == 0) return {};
  return stages[static_cast<std::size_t>(at.stage)].first + at.epochs;
}

bool has_its_best(const CheckpointStore& store, const Checkpoint& checkpoint) {
  for (const int64_t step : CheckpointStore::best_steps(checkpoint))
    if (const fs::path file = store.file_of(step);
        file.filename() != checkpoint.file.filename() && !fs::exists(file))
      return false;
  return true;
}

[[noreturn]] void refuse(const fs::path& from, const Parting& parting) {
  fail(ErrorCode::invalid_param, "this run cannot begin with ", from.string(),
       parting.epochs > 0
           ? fmt::format(": they train alike for {} epochs, and it has no checkpoint of these. "
                         "From there on they",
                         parting.epochs)
           : std::string(": from the start they"),
       " differ in:\n", to_text(parting.why));
}

// No allocator is asked for anything before GH begins, so what it has is what it begins with; that
// of the other run may be another.
void put_fresh_allocator(TensorFile& content, Harmonizer& harmonizer) {
  TensorFile fresh;
  StateSaver saver(fresh, "harmonize");
  harmonizer.visit_state(saver);
  const auto is_allocators = [](std::string_view name) { return name.starts_with(kAllocator); };
  std::erase_if(content.metadata, [&](const auto& entry) { return is_allocators(entry.first); });
  for (const auto& [key, text] : fresh.metadata)
    if (is_allocators(key)) content.metadata[key] = text;
  NamedTensors tensors;
  bool within = false;  // the part of GH, at whose end the allocator's is
  const auto end_part = [&] {
    for (const auto& [name, tensor] : fresh.tensors)
      if (is_allocators(name)) tensors.emplace_back(name, tensor);
  };
  for (const auto& [name, tensor] : content.tensors) {
    const bool gh = name.starts_with(kHarmonize);
    if (within && !gh) end_part();
    within = gh;
    if (!is_allocators(name)) tensors.emplace_back(name, tensor);
  }
  if (within) end_part();
  content.tensors = std::move(tensors);
}

TensorFile as_own(TensorFile content, int64_t epochs, Assembly& run) {
  for (const auto& [key, text] : identity_of(run.recipe, run.train).metadata())
    content.metadata[key] = text;
  if (run.harmonizer && epochs <= run.plan.harmonize->tracker.warm_up)
    put_fresh_allocator(content, *run.harmonizer);
  return content;
}

int64_t step_of(const TensorFile& content, const Assembly& run) {
  return read_position(content, static_cast<int64_t>(run.stages.size())).total;
}

// Returns the file to go on from.
fs::path take_over(const ForkPoint& point, Assembly& run, RunDirectory& directory) {
  const TensorFile& content = point.checkpoint->content;
  const nlohmann::json position = parse_json(content.metadata.at("position"));
  directory.begin_as(point.run, {.metrics_bytes = position.at("metrics_bytes"),
                                 .results = position.at("results")});
  directory.marks();  // whoever finds the checkpoint finds them
  const CheckpointStore theirs(point.run, run.plan.checkpoints);
  CheckpointStore own(directory.path(), run.plan.checkpoints);
  const int64_t step = step_of(content, run);
  for (const int64_t best : CheckpointStore::best_steps(*point.checkpoint)) {
    if (best == step) continue;
    TensorFile of_best = read_checkpoint(theirs.file_of(best));
    const int64_t epochs = whole_epochs(of_best, run.stages).value_or(point.epochs);
    own.adopt(best, as_own(std::move(of_best), epochs, run));
  }
  own.adopt(step, as_own(content, point.epochs, run));
  return own.file_of(step);
}

}  // namespace

ForkPoint find_fork_point(Assembly& run, const fs::path& from) {
  require(fs::exists(from / "recipe.toml"), ErrorCode::missing_data,
          (from / "recipe.toml").string(), " is not there: ", from.string(),
          " is no run to begin with");
  const auto warn = [&](const std::string& text) { run.process.console.warn(text); };
  const Recipe theirs = recorded_recipe(from, run.registry);
  const Parting parting = parting_of(theirs, run.recipe);
  if (parting.epochs == 0) refuse(from, parting);
  require_same_ground(from, continuation_of(run), warn);
  const RunIdentity identity = recorded_identity(from, run.registry);
  const CheckpointStore store(from, run.plan.checkpoints);
  std::vector<fs::path> files = store.files_and_kept();
  bool beyond = false;
  for (; !files.empty(); files.pop_back()) {
    Checkpoint checkpoint{files.back(), {}};
    try {
      checkpoint.content = read_checkpoint(files.back());
    } catch (const Error& reason) {  // damaged, or removed since by the run itself
      warn(fmt::format("{}; one before it is looked for", reason.what()));
      continue;
    }
    require_own_checkpoint(checkpoint, identity, run.registry, warn);
    const std::optional<int64_t> epochs = whole_epochs(checkpoint.content, run.stages);
    if (epochs && *epochs > parting.epochs) beyond = true;
    if (!epochs || *epochs > parting.epochs || !has_its_best(store, checkpoint)) continue;
    return {.run = from, .epochs = *epochs, .checkpoint = std::move(checkpoint)};
  }
  if (beyond) refuse(from, parting);
  fail(ErrorCode::missing_data, from.string(),
       " has no checkpoint at the end of an epoch to begin with; train it with --until ",
       parting.epochs);
}

Checkpoint fork_into(const ForkPoint& point, Assembly& run, RunDirectory& directory) {
  run.log.say(Severity::info, fmt::format("begins with {} epochs that {} trained", point.epochs,
                                          point.run.string()));
  Ranks& ranks = *run.process.ranks;
  fs::path file;
  if (ranks.first()) file = take_over(point, run, directory);
  const std::string bytes = ranks.broadcast_text(file.string());
  return {bytes, read_checkpoint(bytes)};
}

}  // namespace gh::host
