// @NAME@: how long embeddings are and how far each class spreads around its mean.
//
// Where to change what:
//   evaluate()  your measurement: features in, metrics, tables and pictures (gh/plot.hpp) out
//   check()     says before training what is missing: labels, a split, a width
//   kParams     what a recipe may set under [[eval]]
//
// For fine-tuning see Evaluation::clone_encoder() and each_batch().
#include "gh/component.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace {

std::string fixed(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4f", value);
  return text;
}

class @CLASS@ final : public gh::Evaluator {
 public:
  explicit @CLASS@(const gh::Params& params) : split_(params.text("split")) {}

  void check(const gh::EvalFacts& facts, gh::Complaints& out) const override {
    if (!facts.class_targets) out.add(".data", "@NAME@ needs class labels");
    if (std::find(facts.splits.begin(), facts.splits.end(), split_) == facts.splits.end())
      out.add("split", "the data set has no split '" + std::string(split_) + "'");
  }

  void evaluate(gh::Evaluation& evaluation) override {
    const gh::Features& f =
        evaluation.features({.level = gh::FeatureLevel::embedding, .split = split_});
    const at::Tensor norms = f.x.norm(2, {1});
    const int64_t classes = f.targets.max().item<int64_t>() + 1;
    double total = 0;
    std::vector<std::vector<std::string>> rows;
    for (int64_t c = 0; c < classes; ++c) {
      const at::Tensor members = f.targets.eq(c).nonzero().squeeze(1);
      if (members.size(0) == 0) continue;
      const at::Tensor x = f.x.index_select(0, members);
      const double spread = (x - x.mean({0}, true)).norm(2, {1}).mean().item<double>();
      const double length = norms.index_select(0, members).mean().item<double>();
      const std::size_t i = static_cast<std::size_t>(c);
      rows.push_back({i < f.class_names.size() ? f.class_names[i] : std::to_string(c),
                      std::to_string(members.size(0)), fixed(length), fixed(spread)});
      total += spread;
    }
    evaluation.metric("norm", norms.mean().item<double>(),
                      "mean Euclidean length of the embedding over samples");
    evaluation.metric("spread", total / static_cast<double>(rows.size()),
                      "mean distance of a sample's embedding to the mean of its class; averaged "
                      "within, then over classes");
    const std::vector<std::string> columns = {"class", "samples", "mean length", "spread"};
    evaluation.table("classes",
                     "Length and spread of each class, " + std::string(split_) + " split", columns,
                     rows);
  }

 private:
  std::string_view split_;
};

constexpr gh::Param kParams[] = {
    gh::text("split", "\"test\"", "which samples to embed; train is the thinned training set"),
};
constexpr gh::Component kComponents[] = {
    gh::describe<@CLASS@>("@NAME@", "length of embeddings and spread of classes", kParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "your name", .url = "",
          .doc = "What this plugin is for, in a sentence or two")
