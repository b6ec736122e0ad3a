// Do clusters find the classes? Labels from K-means on features, or from the points that GH pulls
// towards, compared with the true ones.
#include "gh/class_groups.hpp"
#include "gh/component.hpp"
#include "gh/feature_choice.hpp"
#include "gh/number_text.hpp"
#include "gh/ops/agreement.hpp"
#include "gh/ops/kmeans.hpp"

#include <ATen/ops/argmax.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace {

using gh::ops::KMeansMetric;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

std::string percent(double share) { return gh::number_text("%.1f", 100 * share); }

// How many samples each cluster has of each class.
struct Contents {
  std::vector<std::vector<int64_t>> counts;  // [cluster][class]
  std::vector<int64_t> sizes, commonest;     // [cluster]; of equally common classes the first

  Contents(const at::Tensor& clusters, int64_t points, const at::Tensor& classes, int64_t labels)
      : counts(static_cast<std::size_t>(points),
               std::vector<int64_t>(static_cast<std::size_t>(labels), 0)) {
    const auto cluster = clusters.accessor<int64_t, 1>(), label = classes.accessor<int64_t, 1>();
    for (int64_t i = 0; i < clusters.numel(); ++i)
      if (label[i] >= 0)
        ++counts[static_cast<std::size_t>(cluster[i])][static_cast<std::size_t>(label[i])];
    for (const auto& row : counts) {
      sizes.push_back(std::accumulate(row.begin(), row.end(), int64_t{0}));
      commonest.push_back(std::max_element(row.begin(), row.end()) - row.begin());
    }
  }

  // The share of each class that lies where it is the commonest; NaN for a class without samples.
  std::vector<double> kept() const {
    std::vector<double> all(counts.front().size(), 0), own = all;
    for (std::size_t k = 0; k < counts.size(); ++k) {
      for (std::size_t c = 0; c < all.size(); ++c) all[c] += static_cast<double>(counts[k][c]);
      const auto most = static_cast<std::size_t>(commonest[k]);
      own[most] += static_cast<double>(counts[k][most]);
    }
    for (std::size_t c = 0; c < all.size(); ++c) own[c] = all[c] > 0 ? own[c] / all[c] : kNone;
    return own;
  }
};

class Clusters final : public gh::Evaluator {
 public:
  explicit Clusters(const gh::Params& params)
      : chosen_(gh::read_features(params)),
        structure_(params.text("source") == "structure"),
        points_(params.integer("points")),
        metric_(gh::ops::kmeans_metric(params.text("metric"))),
        iterations_(params.integer("iterations")) {}

  void check(const gh::EvalFacts& facts, gh::Complaints& out) const override {
    if (!gh::check_class_features(facts, chosen_, "clusters are compared with class labels", out))
      return;
    const gh::SplitFacts* const known = gh::facts_of(facts, chosen_.split);
    if (!known) return;
    if (structure_) {
      if (facts.harmonize_points == 0)
        out.add("source", "\"structure\" needs the table [harmonize], which is absent");
      return;
    }
    const int64_t clusters = points_ ? points_ : std::max<int64_t>(known->classes, 1);
    if (clusters > known->samples)
      out.add("points", "expected at most the " + std::to_string(known->samples) +
                            " samples of split '" + chosen_.split + "', got " +
                            std::to_string(clusters));
  }

  void evaluate(gh::Evaluation& evaluation) override {
    const gh::Features& features =
        evaluation.features({.level = structure_ ? gh::FeatureLevel::embedding : chosen_.level,
                             .split = chosen_.split});
    const at::Tensor counts = evaluation.class_counts();
    const int64_t classes = std::max(counts.numel(), features.targets.max().item<int64_t>() + 1);
    const Found found = structure_ ? nearest_points(evaluation, features.x)
                                   : kmeans(evaluation, features.x, points_ ? points_ : classes);
    const Contents contents(found.labels, found.points, features.targets, classes);

    report(evaluation, gh::ops::agreement(found.labels, features.targets), found);
    const auto used = std::count_if(contents.sizes.begin(), contents.sizes.end(),
                                    [](int64_t size) { return size > 0; });
    evaluation.metric("used", static_cast<double>(used),
                      "clusters with a sample, of " + std::to_string(found.points));
    report_groups(evaluation, gh::class_groups(chosen_.groups, counts), contents);
    write_clusters(evaluation, features, contents);
  }

 private:
  struct Found {
    at::Tensor labels;  // [n] int64
    int64_t points;
    std::string how;
  };

  Found kmeans(gh::Evaluation& evaluation, const at::Tensor& x, int64_t points) const {
    gh::require(points <= x.size(0), gh::ErrorCode::invalid_param, "points = ", points,
                ", but split '", chosen_.split, "' has ", x.size(0), " samples");
    const at::Tensor start = gh::ops::kmeans_start(x, points, gh::ops::KMeansStart::plus_plus,
                                                   metric_, evaluation.random("clusters"));
    const gh::ops::KMeansResult result =
        gh::ops::kmeans(x, start, {.metric = metric_, .iterations = iterations_});
    // A number of its own: definitions say what was measured, and are compared between runs.
    evaluation.metric("rounds", static_cast<double>(result.iterations),
                      "of K-means until no sample moved, at most " + std::to_string(iterations_));
    return {result.labels, points,
            std::string(metric_ == KMeansMetric::spherical ? "spherical" : "Euclidean") +
                " K-means of " + gh::level_name(chosen_.level) + " features, " +
                std::to_string(points) + " clusters"};
  }

  static Found nearest_points(gh::Evaluation& evaluation, const at::Tensor& embedding) {
    const at::Tensor points = evaluation.points();
    gh::require(points.defined(), gh::ErrorCode::unsupported,
                "source = \"structure\" needs a run with [harmonize]");
    return {embedding.to(at::kFloat).matmul(points.to(at::kFloat).t()).argmax(1), points.size(0),
            "the structure's point with the largest product with the embedding, " +
                std::to_string(points.size(0)) + " points"};
  }

  void report(gh::Evaluation& evaluation, const gh::ops::Agreement& agreement,
              const Found& found) const {
    const std::string of = " of clusters and classes of split " + chosen_.split + "; " + found.how;
    evaluation.metric("nmi_arithmetic", agreement.nmi_arithmetic,
                      "mutual information over the arithmetic mean of both entropies (the default "
                      "of scikit-learn)" +
                          of);
    evaluation.metric("nmi_geometric", agreement.nmi_geometric,
                      "mutual information over the geometric mean of both entropies (Strehl and "
                      "Ghosh 2002)" +
                          of);
    evaluation.metric("mutual_information", agreement.mutual_information, "in nats," + of);
    evaluation.metric("purity", 100 * agreement.purity,
                      "samples whose class is the commonest of their cluster, percent");
  }

  static void report_groups(gh::Evaluation& evaluation, const gh::ClassGroups& groups,
                            const Contents& contents) {
    const std::vector<double> kept = contents.kept();
    const gh::GroupAverages averages = gh::average_groups(groups, kept);
    for (std::size_t g = 0; g < groups.groups.size(); ++g)
      evaluation.metric("purity_" + groups.groups[g].name, 100 * averages.means[g],
                        "samples of a class that lie where it is the commonest, percent, mean over "
                        "the group's classes: 0 for one that is the commonest nowhere; " +
                            groups.definition);
  }

  void write_clusters(gh::Evaluation& evaluation, const gh::Features& features,
                      const Contents& contents) const {
    std::vector<std::size_t> order(contents.sizes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return contents.sizes[a] > contents.sizes[b];
    });
    std::vector<std::vector<std::string>> rows;
    for (const std::size_t k : order) {
      const auto most = static_cast<std::size_t>(contents.commonest[k]);
      const bool empty = contents.sizes[k] == 0;
      const double share = empty ? kNone
                                 : static_cast<double>(contents.counts[k][most]) /
                                       static_cast<double>(contents.sizes[k]);
      rows.push_back({std::to_string(k), std::to_string(contents.sizes[k]),
                      empty
                          ? "—"
                          : (most < features.class_names.size() ? features.class_names[most]
                                                                : "class " + std::to_string(most)),
                      percent(share)});
    }
    const std::vector<std::string> columns = {"cluster", "samples", "commonest class",
                                              "its share, percent"};
    evaluation.table("clusters", "Every cluster of split " + chosen_.split + ", largest first",
                     columns, rows);
  }

  gh::FeatureChoice chosen_;
  bool structure_;
  int64_t points_;
  KMeansMetric metric_;
  int64_t iterations_;
};

constexpr gh::Param kParams[] = {
    GH_TRAIN_SPLIT_PARAM("which samples"),
    GH_GROUPS_PARAM,
    gh::choice("source", "features", "features|structure",
               "K-means, or the points of [harmonize]: the largest product with the embedding"),
    gh::choice("level", "backbone", "backbone|embedding", "which features K-means clusters"),
    gh::integer("points", "0", "clusters of K-means; 0: as many as classes")
        .at_least(0)
        .at_most(65536),
    gh::choice("metric", "spherical", "spherical|euclidean",
               "K-means by cosines of rows of unit length, or by Euclidean distances"),
    gh::integer("iterations", "100", "of K-means, at most").at_least(1).at_most(100000),
};
constexpr gh::Component kComponents[] = {
    gh::describe<Clusters>("clusters", "how well clusters agree with classes: NMI and purity",
                           kParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "Clusters compared with classes")
