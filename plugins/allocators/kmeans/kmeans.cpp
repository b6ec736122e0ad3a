// Labels from clusters of the whole training set, as DeepCluster-v2 has them (Caron et al. 2020):
// on schedule all samples are clustered anew, the centres become the structure's points, and until
// the next fit the target of a sample is the point of its cluster.
#include "gh/ops/kmeans.hpp"
#include "gh/component.hpp"
#include "gh/parts/fitted_labels.hpp"
#include "gh/rows.hpp"

#include <ATen/ops/where.h>

#include <cstring>

namespace {

using gh::ops::KMeansMetric;
using gh::ops::KMeansStart;

class KMeans final : public gh::Allocator {
 public:
  explicit KMeans(const gh::Params& params)
      : metric_(gh::ops::kmeans_metric(params.text("metric"))),
        start_(params.text("start") == "random" ? KMeansStart::random : KMeansStart::plus_plus),
        iterations_(params.integer("iterations")),
        every_(params.integer("every")),
        table_(params.text("source") == "table") {}

  void check(const gh::AllocatorFacts& facts, gh::Complaints& out) const override {
    gh::parts::FittedLabels::check(facts, out, "kmeans");
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

    labels_.store(request.indices, found.labels);
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
    return labels_.targets(request);
  }

  void visit_state(gh::State& state) override { labels_.visit_state(state); }

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

  KMeansMetric metric_;
  KMeansStart start_;
  int64_t iterations_;
  int64_t every_;
  bool table_;
  gh::parts::FittedLabels labels_;
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
