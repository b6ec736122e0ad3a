#include "eval/evaluation.hpp"

#include "data/index_file.hpp"
#include "data/picture_reader.hpp"
#include "data/preview.hpp"
#include "eval/evaluation_mode.hpp"

#include "gh/digest.hpp"
#include "gh/error.hpp"
#include "gh/interrupt.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

namespace gh::host {
namespace {

constexpr int64_t kFeatureBatch = 512;

int64_t draw_of(const FeatureRequest& request) {
  const bool known = request.struct_size > offsetof(FeatureRequest, draw);
  require(!known || request.draw >= 0, ErrorCode::invalid_param, "draw must be at least 0, got ",
          known ? request.draw : 0);
  return known ? request.draw : 0;
}

}  // namespace

EvaluationRun::EvaluationRun(EvaluationSource source, std::string evaluator)
    : source_(std::move(source)), evaluator_(std::move(evaluator)) {
  results_ = {{"metrics", nlohmann::ordered_json::array()},
              {"tables", nlohmann::ordered_json::array()}};
}

std::string EvaluationRun::carry_out(const std::function<void()>& work) {
  Going going = Going::done;
  std::string error;
  try {
    work();
  } catch (const Error& thrown) {
    going = thrown.code() == ErrorCode::interrupted ? Going::stopped : Going::failed;
    error = thrown.what();
  }
  if (over_)
    error.clear();  // only says that another rank has a reason
  else if (all_say(going) && going == Going::done)
    return "";
  if (stopped_)
    fail(ErrorCode::interrupted, "stopped by a signal while ", evaluator_, " evaluated");
  return first_reason(error);
}

// A rank that is done or has failed does not come to do things together any more: unless all ranks
// say the same, none can go on.
bool EvaluationRun::all_say(Going going) {
  at::Tensor all = at::tensor({static_cast<int64_t>(going)}, at::kLong);
  if (facts().world > 1) all = source_.host.all_gather(all.to(facts().device)).to(at::kCPU);
  const auto says = [&](Going what) { return all.eq(static_cast<int64_t>(what)); };
  over_ = !says(going).all().item<bool>();
  stopped_ = says(Going::stopped).any().item<bool>();
  return !over_;
}

// Before ranks do something together.
void EvaluationRun::meet(Going going) {
  if (facts().world == 1) return;
  if (over_ || !all_say(going) || stopped_) {
    over_ = true;
    fail(stopped_ ? ErrorCode::interrupted : ErrorCode::internal,
         "another rank does not go on with this evaluation");
  }
}

std::string EvaluationRun::first_reason(const std::string& own) {
  constexpr std::size_t kLongest = 2000;
  if (facts().world == 1) return own;
  at::Tensor row = at::zeros({1, static_cast<int64_t>(kLongest)}, at::kByte);
  std::memcpy(row.data_ptr(), own.data(), std::min(own.size(), kLongest));
  const at::Tensor all = source_.host.all_gather(row.to(facts().device)).to(at::kCPU).contiguous();
  for (int64_t rank = 0; rank < all.size(0); ++rank) {
    const auto* text = static_cast<const char*>(all[rank].data_ptr());
    const std::string reason(text, strnlen(text, kLongest));
    if (!reason.empty()) return rank == 0 ? reason : "rank " + std::to_string(rank) + ": " + reason;
  }
  return "one rank is done with " + evaluator_ +
         " while another asks for features: evaluators must "
         "do the same on all ranks";
}

const RunFacts& EvaluationRun::facts() const { return source_.host.facts(); }

Random EvaluationRun::random(std::string_view purpose) const {
  return Random(stream_key(facts().seed, "eval." + evaluator_ + "." + std::string(purpose)));
}

ViewPlan EvaluationRun::views_named(std::string_view name) const {
  if (name == "plain") return source_.plain_views;
  if (name == "train") return source_.views;
  std::optional<ViewPlan> preset = preset_views(name, source_.plain_views.groups.front().normalize);
  require(preset.has_value(), ErrorCode::invalid_param, "evaluator '", evaluator_,
          "' asks for views '", name,
          "'; there are \"plain\", \"train\" and the presets of [views]");
  return *preset;
}

const SampleSet& EvaluationRun::split_named(std::string_view name) {
  const SampleSet& set = source_.splits.get(std::string(name));
  std::string& told = used_[std::string(name)] = set.fingerprint();
  if (set.chosen().defined()) told.append(" ").append(set.chosen_fingerprint());
  return set;
}

// Members that an older plugin's compiler did not know have their defaults.
at::Tensor EvaluationRun::samples_of(const FeatureRequest& request, const SampleSet& set) const {
  const bool known = request.struct_size > offsetof(FeatureRequest, samples);
  if (!known || !request.samples.defined()) return at::arange(set.size(), at::kLong);
  const at::Tensor chosen = request.samples.contiguous();
  require(chosen.dim() == 1 && chosen.scalar_type() == at::kLong && chosen.numel() > 0,
          ErrorCode::shape, "evaluator '", evaluator_,
          "' asks for samples that are not [n] int64 with n ≥ 1");
  require(chosen.min().item<int64_t>() >= 0 && chosen.max().item<int64_t>() < set.size(),
          ErrorCode::invalid_param, "evaluator '", evaluator_, "' asks for samples outside of 0 … ",
          set.size() - 1, " of split '", request.split, "'");
  return chosen;
}

const Features& EvaluationRun::features(const FeatureRequest& request) {
  const bool extended = request.struct_size > offsetof(FeatureRequest, samples);
  std::string chosen;
  if (extended && request.samples.defined()) {
    const at::Tensor rows = request.samples.contiguous();
    Digest digest;
    digest.add({static_cast<const char*>(rows.data_ptr()), rows.nbytes()});
    chosen = digest.hex();
  }
  const FeatureKey key{static_cast<int>(request.level), std::string(request.split),
                       std::string(request.views), extended ? request.draw : 0, std::move(chosen)};
  const SampleSet& set = split_named(request.split);
  if (const auto found = own_.find(key); found != own_.end()) return found->second;
  // Samples are large and rarely asked for twice: they are not kept for other evaluators.
  if (request.level == FeatureLevel::input) return shared_features(request, set, key);
  Features copy = shared_features(request, set, key);
  if (copy.x.defined()) copy.x = copy.x.clone();
  if (copy.targets.defined()) copy.targets = copy.targets.clone();
  return own_.emplace(key, std::move(copy)).first->second;
}

const Features& EvaluationRun::shared_features(const FeatureRequest& request, const SampleSet& set,
                                               const FeatureKey& key) {
  FeatureCache& cache = request.level == FeatureLevel::input ? own_ : source_.cache;
  if (const auto found = cache.find(key); found != cache.end()) return found->second;
  Features out{.x = {}, .targets = {}, .class_names = set.class_names()};
  at::Tensor order = samples_of(request, set);
  if (request.level != FeatureLevel::none) out.x = compute(request, order);
  if (set.targets().defined()) out.targets = set.targets().index_select(0, order);
  return cache.emplace(key, std::move(out)).first->second;
}

// Rows in the order of `order`, which becomes that of what was read.
at::Tensor EvaluationRun::compute(const FeatureRequest& request, at::Tensor& order) {
  require(request.level != FeatureLevel::embedding || source_.embeds, ErrorCode::unsupported,
          "these weights are of an encoder alone: embeddings come from a projector that was not "
          "loaded. Evaluate the backbone's features, or a run with its checkpoint");
  const at::NoGradGuard no_grad;
  const EvaluationMode evaluation(source_.method);
  const auto encoder = source_.method.encoder();
  const ViewPlan views = views_named(request.views);
  const EpochPlan plan{.epoch = draw_of(request), .order = order, .batch = kFeatureBatch};
  SetRows rows = rows_of_rank(
      pass_over(request, views, plan), facts().rank, facts().world,
      [&](const at::Tensor& x) {
        if (request.level == FeatureLevel::backbone) return encoder->forward(x).to(at::kFloat);
        if (request.level == FeatureLevel::embedding) return source_.method.embed(x).to(at::kFloat);
        return x.to(at::kFloat);
      },
      teller());
  if (facts().world > 1) {
    meet();
    rows = rows_of_all(rows, plan, facts().world, facts().device,
                       [&](const at::Tensor& part) { return source_.host.all_gather(part); });
  }
  order = rows.samples;
  if (request.level != FeatureLevel::input) require_finite(rows.x, request.split);
  return rows.x;
}

void EvaluationRun::require_finite(const at::Tensor& x, std::string_view split) const {
  const at::Tensor bad = at::isfinite(x.flatten(1)).all(1).logical_not();
  if (!bad.any().item<bool>()) return;
  fail(ErrorCode::numeric, bad.sum().item<int64_t>(), " of ", x.size(0), " features of split '",
       split, "' are not finite, the first at sample ", bad.nonzero()[0][0].item<int64_t>(),
       ": training has diverged, or the weights are damaged. Evaluate an earlier checkpoint, or "
       "train with a smaller rate");
}

at::Tensor EvaluationRun::class_counts() {
  const at::Tensor counts = split_named("train").class_counts();
  return counts.defined() ? counts.clone() : counts;
}

std::shared_ptr<Encoder> EvaluationRun::clone_encoder() {
  return source_.method.clone_encoder(source_.host);
}

void EvaluationRun::each_batch(
    const FeatureRequest& request, int64_t batch, int64_t epoch,
    const std::function<bool(const at::Tensor&, const at::Tensor&)>& use) {
  require(request.level == FeatureLevel::input, ErrorCode::invalid_param,
          "each_batch gives samples as the network sees them; ask "
          "for FeatureLevel::input");
  require(batch >= 1, ErrorCode::invalid_param, "a batch needs at least one sample, got ", batch);
  const SampleSet& set = split_named(request.split);
  at::Tensor order = samples_of(request, set);
  if (epoch >= 0)
    order = order.index_select(0, Random(stream_key(facts().seed, "eval." + evaluator_ + ".order"),
                                         static_cast<uint64_t>(epoch))
                                      .permutation(order.size(0)));
  const ViewPlan views = views_named(request.views);
  each_batch_of(
      pass_over(request, views,
                {.epoch = epoch < 0 ? draw_of(request) : epoch, .order = order, .batch = batch}),
      [&](const at::Tensor& x, const at::Tensor& samples) {
        // Networks that are trained on batches may wait for other ranks in each of them.
        if (facts().world > 1)
          meet(interrupted() ? Going::stopped : Going::on);
        else
          throw_if_interrupted();
        return use(x,
                   set.targets().defined() ? set.targets().index_select(0, samples) : at::Tensor());
      },
      teller());
}

// `views` outlives the pass.
SetPass EvaluationRun::pass_over(const FeatureRequest& request, const ViewPlan& views,
                                 EpochPlan plan) {
  return {.set = source_.splits.get(std::string(request.split)),
          .views = views,
          .seed = stream_key(facts().seed, "eval.views"),
          .loader = source_.loader,
          .plan = std::move(plan)};
}

std::function<void(const std::string&)> EvaluationRun::teller() {
  if (source_.skipped) return source_.skipped;
  return [this](const std::string& reason) {
    say(Severity::warning, "another sample stands in for one that cannot be read: " + reason);
  };
}

void* EvaluationRun::query(const char* interface_id) {
  const std::string_view id = interface_id;
  if (id == EvaluationServices::kId) return static_cast<EvaluationServices*>(this);
  if (id == EvaluationFiles::kId) return static_cast<EvaluationFiles*>(this);
  return nullptr;
}

std::string EvaluationRun::png(std::string_view split, int64_t sample, int side) {
  const SampleSet& set = split_named(split);
  require(sample >= 0 && sample < set.size(), ErrorCode::invalid_param, "split '", split,
          "' has no sample ", sample);
  if (!set.pictures()) return "";
  PictureReader reader;
  return png_within(reader.read_or_skip(set, sample, source_.loader.skip_unreadable), side);
}

at::Tensor EvaluationRun::positions(std::string_view split, std::string_view file) {
  const std::vector<int64_t> read = read_index_file(std::string(file), split_named(split).size());
  return at::tensor(read, at::kLong);
}

std::shared_ptr<Encoder> EvaluationRun::fresh_encoder(std::string_view purpose) {
  return source_.fresh_encoder("eval." + evaluator_ + "." + std::string(purpose));
}

void EvaluationRun::metric(std::string_view name, double value, std::string_view definition) {
  nlohmann::ordered_json number = nullptr;
  if (std::isfinite(value)) number = value;
  results_["metrics"].push_back({{"name", name}, {"value", number}, {"definition", definition}});
}

void EvaluationRun::table(std::string_view name, std::string_view caption,
                          std::span<const std::string> columns,
                          std::span<const std::vector<std::string>> rows) {
  nlohmann::ordered_json lines = nlohmann::ordered_json::array();
  for (const auto& row : rows) {
    require(row.size() == columns.size(), ErrorCode::internal, "table '", name, "' has a row of ",
            row.size(), " cells under ", columns.size(), " columns");
    lines.push_back(row);
  }
  results_["tables"].push_back(
      {{"name", name},
       {"caption", caption},
       {"columns", std::vector<std::string>(columns.begin(), columns.end())},
       {"rows", lines}});
}

void EvaluationRun::picture(std::string_view name, std::string_view caption, std::string_view mime,
                            std::string_view bytes) {
  require(mime == "image/svg+xml" || mime == "image/png", ErrorCode::unsupported, "picture '", name,
          "' is ", mime, "; reports show image/svg+xml and image/png");
  pictures_.push_back(
      {std::string(name), std::string(caption), std::string(mime), std::string(bytes)});
}

void EvaluationRun::file(std::string_view name, std::string_view extension,
                         std::string_view caption, std::string_view bytes) {
  const auto made_of = [](std::string_view text, std::string_view letters) {
    return !text.empty() && text.find_first_not_of(letters) == std::string_view::npos;
  };
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789_";
  require(made_of(name, kLetters), ErrorCode::invalid_param, "file '", name,
          "': a name is made of [a-z0-9_]");
  // What a result is read from has that ending.
  require(made_of(extension, kLetters.substr(0, 36)) && extension != "json",
          ErrorCode::invalid_param, "file '", name, "': the extension '", extension,
          "' is not of [a-z0-9], or \"json\"");
  for (const RunDirectory::File& other : files_)
    require(other.name != name, ErrorCode::invalid_param, "file '", name, "' was given twice");
  files_.push_back(
      {std::string(name), std::string(extension), std::string(caption), std::string(bytes)});
}

void EvaluationRun::say(Severity severity, std::string_view message) {
  source_.say(severity, evaluator_ + ": " + std::string(message));
}

}  // namespace gh::host
