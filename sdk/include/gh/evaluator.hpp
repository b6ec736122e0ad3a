// The contract of an evaluator: a trained encoder and labelled splits in; metrics, tables and
// pictures out.
#pragma once

#include "gh/dataset.hpp"
#include "gh/error.hpp"
#include "gh/host.hpp"
#include "gh/params.hpp"
#include "gh/tensor.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gh {
inline namespace v1 {

enum class FeatureLevel : int {
  input = 0,      // the sample as the network sees it
  backbone = 1,   // encoder output
  embedding = 2,  // what harmonize() sees
  none = 3        // targets and class names only: no sample is read, Features::x is undefined
};

// Plugin to host: carries its size, so that later minors can append.
struct FeatureRequest {
  uint32_t struct_size = sizeof(FeatureRequest);
  FeatureLevel level = FeatureLevel::backbone;
  // "train": the thinned training set; "train:full": before thinning; else the data set's.
  std::string_view split = "train";
  // "plain": without augmentation; "train": the method's first view; or a preset of [views], with
  // the recipe's normalisation.
  std::string_view views = "plain";
  // [n] int64, positions in the split; undefined: all, in order.
  at::Tensor samples = {};
  // ≥ 0: another number, other draws of what is random in `views`.
  int64_t draw = 0;
};

// Host to plugin; later minors append.
struct Features {
  // [N, D] float32, CPU, evaluation mode, no gradient.
  at::Tensor x;
  // As Split::targets(); undefined where the split has none.
  at::Tensor targets;
  // May be empty.
  std::vector<std::string> class_names;
};

#if GH_SDK_MINOR >= 1
// One split, before training. Never grows: it is handed over in arrays. Since 1.1.
struct SplitFacts {
  std::string name;
  int64_t samples = 0;
  TargetKind targets = TargetKind::none;
  // With TargetKind::classes and multi, else 0.
  int64_t classes = 0;
};
#endif

// Known once the networks are built, so that an evaluator can refuse before training. Host to
// plugin; later minors append.
struct EvalFacts {
  std::vector<std::string> splits;
  bool class_targets = false;
  bool real_targets = false;
  std::vector<int64_t> sample_shape;
  // Of features at FeatureLevel::backbone.
  int64_t feature_width = 0;
  // Of features at FeatureLevel::embedding.
  int64_t embedding_width = 0;
  bool multi_targets = false;
#if GH_SDK_MINOR >= 1
  // Since 1.1. A split that cannot be opened yet is in `splits`, but not among these.
  std::vector<SplitFacts> split_facts;
  // Samples of each class, one list for each of split_facts; empty unless it has class targets.
  std::vector<std::vector<int64_t>> class_counts;
  // Points of the structure; 0 without [harmonize].
  int64_t harmonize_points = 0;
  // As EvaluationServices::positions(); throws where the list cannot be read. May be empty.
  std::function<at::Tensor(std::string_view split, std::string_view file)> positions;
#endif
};

#if GH_SDK_MINOR >= 1
// The facts of a split; null where they are not known. Since 1.1.
inline const SplitFacts* facts_of(const EvalFacts& facts, std::string_view split) {
  for (const SplitFacts& each : facts.split_facts)
    if (each.name == split) return &each;
  return nullptr;
}
#endif

// What else the host does for an evaluator:
//
//   auto* services = static_cast<EvaluationServices*>(evaluation.query(EvaluationServices::kId));
//
// Lives as long as the Evaluation. Training thread.
class GH_API EvaluationServices {
 public:
  static constexpr const char* kId = "gh.evaluation.services.v1";
  virtual ~EvaluationServices();
  // A sample as it lies in the data set, as PNG of at most side × side pixels; "" where samples are
  // vectors.
  virtual std::string png(std::string_view split, int64_t sample, int side) = 0;
  // Positions in `split` that a file names (.npy, .json, or one a line), [n] int64.
  virtual at::Tensor positions(std::string_view split, std::string_view file) = 0;
  // An encoder as the recipe's [backbone] builds it, with weights keyed by `purpose`.
  virtual std::shared_ptr<Encoder> fresh_encoder(std::string_view purpose) = 0;
};

#if GH_SDK_MINOR >= 1
// Optional, found by Evaluation::query(EvaluationFiles::kId): results that are neither number, table
// nor picture, such as features or a list of errors. Training thread. Since 1.1.
class GH_API EvaluationFiles {
 public:
  static constexpr const char* kId = "gh.evaluation.files.v1";
  virtual ~EvaluationFiles();
  // Becomes <result>-<name>.<extension> in the run's directory, and the result names it. `name` as
  // that of a metric, once; `extension` is of [a-z0-9].
  virtual void file(std::string_view name, std::string_view extension, std::string_view caption,
                    std::string_view bytes) = 0;
};
#endif

// Valid during evaluate(). Training thread.
class GH_API Evaluation {
 public:
  virtual ~Evaluation();
  virtual const RunFacts& facts() const = 0;
  // A stream keyed by seed, evaluator and purpose, not by the moment.
  virtual Random random(std::string_view purpose) const = 0;
  // Computed once for all evaluators of a moment that ask for the same; each has its own copy.
  // Throws Error numeric when a feature is not finite.
  virtual const Features& features(const FeatureRequest& request) = 0;
  // Samples of each class of the thinned training set, [C] int64; undefined without class targets.
  virtual at::Tensor class_counts() = 0;
  // What GH pulls towards, as it stands: [K, width] float32 and the prior [K] float64, CPU;
  // undefined without [harmonize].
  virtual at::Tensor points() = 0;
  virtual at::Tensor prior() = 0;
  // A trainable copy of the encoder; the run's own stays as it is.
  virtual std::shared_ptr<Encoder> clone_encoder() = 0;
  // Batches of a split, shuffled by `epoch` (negative: in order), for fine-tuning. Stops early when
  // `use` returns false. Level input only; x on the run's device.
  virtual void each_batch(
      const FeatureRequest& request, int64_t batch, int64_t epoch,
      const std::function<bool(const at::Tensor& x, const at::Tensor& targets)>& use) = 0;

  // Results. Names are [a-z0-9_]; `definition` is printed beside the number. A NaN is shown as "—".
  virtual void metric(std::string_view name, double value, std::string_view definition) = 0;
  virtual void table(std::string_view name, std::string_view caption,
                     std::span<const std::string> columns,
                     std::span<const std::vector<std::string>> rows) = 0;
  virtual void picture(std::string_view name, std::string_view caption, std::string_view mime,
                       std::string_view bytes) = 0;
  virtual void say(Severity severity, std::string_view message) = 0;
  virtual void* query(const char* interface_id) = 0;
};

class GH_API Evaluator {
 public:
  virtual ~Evaluator();
  virtual void check(const EvalFacts& facts, Complaints& out) const;
  virtual void evaluate(Evaluation& evaluation) = 0;
  virtual void* query(const char* interface_id);
};

}  // namespace v1
}  // namespace gh
