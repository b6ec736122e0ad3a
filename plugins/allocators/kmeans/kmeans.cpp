// Labels from clusters of the whole training set, as DeepCluster-v2 has them (Caron et al. 2020):
// on schedule all samples are clustered anew, the centres become the structure's points, and until
// the next fit the target of a sample is the point of its cluster.
#include "gh/ops/kmeans.hpp"
#include "gh/component.hpp"
#include "gh/rows.hpp"

#include <ATen/ops/argmax.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <cstring>
#include <string>

namespace {

using gh::ops::KMeansMetric;
using gh::ops::KMeansStart;

class KMeans final : public gh::Allocator {
 public:
  explicit KMeans(const gh::Params& params)
      : metric_(params.text("metric") == "spherical" ? KMeansMetric::spherical
                                                     : KMeansMetric::euclidean),
        start_(params.text("start") == "random" ? KMeansStart::random : KMeansStart::plus_plus),
        iterations_(params.integer("iterations")),
        every_(params.integer("every")),
        table_(params.text("source") == "table") {}

  void check(const gh::AllocatorFacts& facts, gh::Complaints& out) const override {
    if (facts.samples < facts.points)
      out.add(".harmonize.structure",
              "K-means needs a sample for each of the " + std::to_string(facts.points) +
                  " points, the training set has " + std::to_string(facts.samples));
    if (facts.differentiable)
      out.add(".harmonize.targets",
              "kmeans gives targets without gradient: \"joint\" needs another allocator, such as "
              "sinkhorn");
  }

  int64_t fit_every() const override { return every_; }

  at::Tensor fit(const gh::FitRequest& request, gh::AssignReport& report) override {
    const at::Tensor x = table_ ? tracked(request) : gh::unit_rows(request.embeddings);
    const int64_t clusters = request.points.size(0);
    gh::require(x.size(0) >= clusters, gh::ErrorCode::shape,
                "K-means needs a sample for each of the ", clusters, " points, got ", x.size(0));
    const at::Tensor start = gh::ops::kmeans_start(x, clusters, start_, metric_, request.random);
    const gh::ops::KMeansResult found =
        gh::ops::kmeans(x, start, {.metric = metric_, .iterations = iterations_});

    labels_ = at::full({request.indices.max().item<int64_t>() + 1}, -1, at::kLong);
    labels_.index_copy_(0, request.indices, found.labels);
    report.scalar("objective", found.objective);
    report.scalar("iterations", static_cast<double>(found.iterations));
    report.scalar("empty", static_cast<double>(
                               (found.labels.bincount({}, clusters) == 0).sum().item<int64_t>()));
    const at::Tensor centres = found.centres.to(at::kDouble);
    // Logits are z·pointsᵀ: a centre of logits says how much of each point its samples hold.
    const at::Tensor next = gh::unit_rows(table_ ? centres.matmul(request.points) : centres);
    // A centre without direction leaves its point where it is.
    return at::where(next.norm(2, {1}, true) > 0.5, next, request.points);
  }

  at::Tensor assign(const gh::AssignRequest& request, gh::AssignReport&) override {
    gh::require(!request.differentiable, gh::ErrorCode::unsupported,
                "kmeans gives targets without gradient");
    const at::Tensor& logits = request.logits;
    gh::require(logits.dim() == 2 && logits.size(0) > 0 && logits.size(1) > 0, gh::ErrorCode::shape,
                "logits must be [N, K], got ", logits.sizes());
    gh::require(at::isfinite(logits).all().item<bool>(), gh::ErrorCode::numeric,
                "logits are not finite");
    at::Tensor chosen = logits.detach().argmax(1);
    if (labels_.defined()) {
      const at::Tensor fitted = fitted_labels(request.indices, logits.size(0), logits.size(1));
      chosen = at::where(fitted.to(chosen.device()) >= 0, fitted.to(chosen.device()), chosen);
    }
    return at::zeros_like(logits.detach()).scatter_(1, chosen.unsqueeze(1), 1);
  }

  void visit_state(gh::State& state) override { state.tensor("labels", labels_); }

  void* query(const char* interface_id) override {
    return table_ && std::strcmp(interface_id, gh::kFitsTable) == 0 ? this : nullptr;
  }

 private:
  static at::Tensor tracked(const gh::FitRequest& request) {
    gh::require(
        request.table.defined(), gh::ErrorCode::unsupported,
        "source = \"table\" clusters tracked logits, and nothing was tracked; let the prior "
        "be tracked in a warm-up of at least one epoch, or set source = \"embeddings\"");
    gh::require(request.table.dim() == 2 && request.table.size(1) == request.points.size(0),
                gh::ErrorCode::shape, "the table must be [samples, ", request.points.size(0),
                "], got ", request.table.sizes());
    return request.table;
  }

  // [N] int64, −1: in no cluster.
  at::Tensor fitted_labels(const at::Tensor& indices, int64_t samples, int64_t points) const {
    gh::require(indices.defined() && indices.dim() == 1 && indices.size(0) == samples,
                gh::ErrorCode::shape, "kmeans needs the position of each of the ", samples,
                " samples");
    const at::Tensor at_cpu = indices.cpu();
    gh::require(at_cpu.min().item<int64_t>() >= 0, gh::ErrorCode::shape,
                "a sample has the position ", at_cpu.min().item<int64_t>());
    const int64_t known = labels_.size(0);
    const at::Tensor labels =
        at::where(at_cpu < known, labels_.index_select(0, at_cpu.clamp_max(known - 1)), -1);
    gh::require(labels.max().item<int64_t>() < points, gh::ErrorCode::shape,
                "a sample was put into cluster ", labels.max().item<int64_t>(), ", there are ",
                points, " points");
    return labels;
  }

  KMeansMetric metric_;
  KMeansStart start_;
  int64_t iterations_;
  int64_t every_;
  bool table_;
  at::Tensor labels_;  // [positions] int64, −1: in no cluster; undefined before the first fit
};

constexpr gh::Param kParams[] = {
    gh::choice("metric", "spherical", "spherical|euclidean",
               "cosines, or Euclidean distances of rows of unit length"),
    gh::choice("start", "random", "random|plus_plus", "first centres: random samples or k-means++"),
    gh::integer("iterations", "10", "rounds of a fit at most; ends when no sample moves")
        .at_least(1)
        .at_most(100000),
    gh::integer("every", "1", "between fits").at_least(1).at_most(1000000).in("epochs"),
    gh::choice("source", "embeddings", "embeddings|table",
               "what is clustered: embeddings from a pass over the data, or the tracked logits"),
};
constexpr gh::Component kComponents[] = {
    gh::describe<KMeans>("kmeans", "clusters of the whole training set; centres become the points",
                         kParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "Surrogate labels by K-means, as in DeepCluster-v2")
