#include "train/checkpointing.hpp"

#include "ranks/same_state.hpp"
#include "text/json.hpp"
#include "train/last_batch.hpp"
#include "train/state_archive.hpp"

#include "gh/error.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <memory>
#include <mutex>

namespace gh::host {
namespace {

constexpr const char* kFormat = "ghhost-checkpoint-1";
constexpr const char* kEpochWeights = "run.epoch_strength";

// LibTorch's own generators, for operators that draw from them. Ranks may have drawn differently:
// several have a row each, of which each gets its own back.
void visit_generators(State& state, at::Device device, Ranks& ranks) {
  const auto visit = [&](const char* name, at::Generator generator) {
    at::Tensor bytes;
    {
      std::lock_guard lock(generator.mutex());
      bytes = generator.get_state();
    }
    if (!state.loading() && ranks.world() > 1) bytes = ranks.all_gather(bytes.view({1, -1}));
    state.tensor(name, bytes);
    if (!state.loading()) return;
    if (bytes.dim() == 2) bytes = bytes[std::min(ranks.rank(), bytes.size(0) - 1)].clone();
    std::lock_guard lock(generator.mutex());
    generator.set_state(bytes);
  };
  visit("generator.cpu", at::globalContext().defaultGenerator(at::kCPU));
  if (device.is_cuda()) visit("generator.cuda", at::globalContext().defaultGenerator(device));
}

// Summed over ranks in a file, the first one's afterwards.
void visit_count(State& state, const char* name, int64_t& count, Ranks& ranks) {
  at::Tensor sum = at::tensor({static_cast<double>(count)}, at::kDouble);
  if (!state.loading()) ranks.sum_in_place(sum);
  int64_t all = static_cast<int64_t>(sum.item<double>());
  state.integer(name, all);
  if (state.loading()) count = ranks.first() ? all : 0;
}

// State of which each rank has its own and the first one's is kept: what is only shown, and batch
// statistics that are not taken over all ranks.
bool is_of_one_rank(const std::string& name, Norm norm) {
  return name.starts_with("host.picture") ||
         (norm == Norm::of_each_rank &&
          (name.ends_with("running_mean") || name.ends_with("running_var")));
}

nlohmann::json position_in(const TensorFile& checkpoint) {
  return parse_json(checkpoint.metadata.at("position"));
}

}  // namespace

// One for each prefix in a checkpoint.
struct Checkpointing::Archives {
  State &method, &harmonizer, &optimizer, &host, &own;
};

void Checkpointing::visit(Archives& to, StageState stage) {
  parts_.method.call("visit_state", &SslMethod::visit_state, to.method);
  if (parts_.harmonizer) parts_.harmonizer->visit_state(to.harmonizer);
  stage.optimizer.visit_state(to.optimizer);
  stage.scaler.visit_state(to.optimizer);
  parts_.notebook.visit_state(to.host, parts_.ranks);
  to.own.integer("step", parts_.notebook.progress.step);
  visit_count(to.own, "skipped", parts_.notebook.skipped, parts_.ranks);
  visit_generators(to.own, parts_.notebook.facts.device, parts_.ranks);
}

void Checkpointing::save(const Position& position, StageState stage, std::optional<double> score) {
  saved_ = std::chrono::steady_clock::now();
  TensorFile content;
  const RunDirectory::Marks marks = parts_.directory.marks();
  const std::string where = nlohmann::json{{"stage", position.stage},
                                           {"epochs", position.epochs},
                                           {"steps", position.steps},
                                           {"total", position.total},
                                           {"metrics_bytes", marks.metrics_bytes},
                                           {"results", results_before_.value_or(marks.results)}}
                                .dump();
  StateSaver method(content, "method"), harmonizer(content, "harmonize"),
      optimizer(content, "optimizer"), host(content, "host"), own(content, "run");
  Archives archives{method, harmonizer, optimizer, host, own};
  visit(archives, stage);
  // What the running epoch's views read, where more was published since it began.
  const SampleWeights& read = parts_.notebook.epoch_weights;
  if (position.steps > 0 && read && read != parts_.notebook.weights)
    content.tensors.emplace_back(kEpochWeights, at::tensor(*read, at::kFloat));
  require_same_state(
      parts_.ranks, {content.tensors.begin(), content.tensors.end()}, content.metadata,
      [norm = parts_.plan.norm](const std::string& name) { return is_of_one_rank(name, norm); });
  content.metadata["format"] = kFormat;
  content.metadata["position"] = where;
  content.metadata.insert(parts_.identity.begin(), parts_.identity.end());
  if (!parts_.directory.written()) return;
  parts_.store.save(position.total, std::move(content), score);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - saved_;
  parts_.log.say(Severity::detail, "checkpoint of step " + std::to_string(position.total) + " in " +
                                       std::to_string(spent.count()) + " s");
}

void Checkpointing::load(const TensorFile& from, StageState stage) {
  StateLoader method(from, "method"), harmonizer(from, "harmonize"), optimizer(from, "optimizer"),
      host(from, "host"), own(from, "run");
  Archives archives{method, harmonizer, optimizer, host, own};
  visit(archives, stage);
  parts_.notebook.epoch_weights = parts_.notebook.weights;
  if (from.has(kEpochWeights)) {
    const at::Tensor& row = from.at(kEpochWeights);
    parts_.notebook.epoch_weights = std::make_shared<const std::vector<float>>(
        row.data_ptr<float>(), row.data_ptr<float>() + row.numel());
  }
}

void Checkpointing::rewind_to(const TensorFile& from, int64_t total) {
  const nlohmann::json json = position_in(from);
  parts_.directory.rewind(
      {.metrics_bytes = json.at("metrics_bytes"), .results = json.at("results")}, total + 1);
}

bool Checkpointing::is_due() const {
  if (parts_.plan.checkpoint_minutes <= 0 || !parts_.ranks.first()) return false;
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - saved_;
  return since.count() >= 60 * parts_.plan.checkpoint_minutes;
}

Position read_position(const TensorFile& checkpoint, int64_t stages) {
  const auto format = checkpoint.metadata.find("format");
  require(format != checkpoint.metadata.end() && format->second == kFormat, ErrorCode::io,
          "the checkpoint has another format than this version writes, ", kFormat);
  const nlohmann::json json = position_in(checkpoint);
  Position out{.stage = json.at("stage"),
               .epochs = json.at("epochs"),
               .steps = json.at("steps"),
               .total = json.at("total")};
  require(out.stage <= stages, ErrorCode::io, "the checkpoint is in stage ", out.stage,
          ", the method has ", stages);
  return out;
}

NamedState name_parameters(const Optimizer& optimizer, const Made<SslMethod>& made,
                           Harmonizer* harmonizer) {
  TensorFile file;
  StateSaver method(file, "method"), gh(file, "harmonize");
  made.call("visit_state", &SslMethod::visit_state, method);
  if (harmonizer) harmonizer->visit_state(gh);
  NamedState out{.parameters = {}, .batch_statistics = takes_batch_statistics(file)};
  for (const OptimizedParameter& p : optimizer.parameters()) {
    const auto found = std::find_if(file.tensors.begin(), file.tensors.end(), [&](const auto& t) {
      return t.second.data_ptr() == p.tensor.data_ptr();
    });
    require(found != file.tensors.end(), ErrorCode::internal,
            "the method trains a parameter of shape ", p.tensor.sizes(),
            " that its visit_state() does not visit");
    out.parameters.emplace_back(found->first, p.tensor);
  }
  return out;
}

}  // namespace gh::host
