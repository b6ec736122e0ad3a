// Looks at a two-dimensional embedding on the unit circle: how much of the circle each class holds,
// and how far apart the class means are. On long-tailed data a plain contrastive loss lets the head
// class take the circle.
#include "gh/component.hpp"
#include "gh/plot.hpp"
#include "gh/split_checks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

namespace {

constexpr int kDirections = 3600;
constexpr double kTurn = 2 * std::numbers::pi;

struct ClassOnCircle {
  std::string name;
  std::vector<double> angles;  // radians
  double share = 0;            // of the circle
  double mean_x = 0, mean_y = 0;

  double mean_angle() const { return std::atan2(mean_y, mean_x); }
  // Length of the mean of unit vectors: 1 all in one place, 0 all around.
  double concentration() const { return std::hypot(mean_x, mean_y); }
};

double degrees(double radians) { return radians * 360 / kTurn; }

double angle_between(double a, double b) {
  const double d = std::fabs(std::remainder(a - b, kTurn));
  return std::min(d, kTurn - d);
}

std::string fixed(double value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::vector<ClassOnCircle> read_classes(const gh::Features& features) {
  const at::Tensor x = features.x.to(at::kDouble).contiguous();
  const at::Tensor y = features.targets.contiguous();
  const int64_t count = y.numel() == 0 ? 0 : y.max().item<int64_t>() + 1;
  std::vector<ClassOnCircle> classes(static_cast<std::size_t>(count));
  for (std::size_t c = 0; c < classes.size(); ++c)
    classes[c].name =
        c < features.class_names.size() ? features.class_names[c] : "class " + std::to_string(c);
  const auto point = x.accessor<double, 2>();
  const auto label = y.accessor<int64_t, 1>();
  for (int64_t i = 0; i < y.size(0); ++i)
    classes[label[i]].angles.push_back(std::atan2(point[i][1], point[i][0]));
  for (ClassOnCircle& c : classes) {
    for (const double a : c.angles) {
      c.mean_x += std::cos(a) / static_cast<double>(c.angles.size());
      c.mean_y += std::sin(a) / static_cast<double>(c.angles.size());
    }
  }
  return classes;
}

// Gives every direction to the class of the nearest sample.
void share_circle(std::vector<ClassOnCircle>& classes) {
  std::vector<std::pair<double, std::size_t>> all;
  for (std::size_t c = 0; c < classes.size(); ++c)
    for (const double a : classes[c].angles) all.emplace_back(a, c);
  std::sort(all.begin(), all.end());
  if (all.empty()) return;
  for (int i = 0; i < kDirections; ++i) {
    const double direction = -std::numbers::pi + kTurn * (i + 0.5) / kDirections;
    const auto after =
        std::lower_bound(all.begin(), all.end(), std::pair(direction, std::size_t{0}));
    const auto& next = after == all.end() ? all.front() : *after;
    const auto& previous = after == all.begin() ? all.back() : *std::prev(after);
    const bool ahead =
        angle_between(next.first, direction) < angle_between(previous.first, direction);
    classes[ahead ? next.second : previous.second].share += 1.0 / kDirections;
  }
}

double smallest_mean_angle(const std::vector<ClassOnCircle>& classes) {
  double smallest = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t a = 0; a < classes.size(); ++a)
    for (std::size_t b = a + 1; b < classes.size(); ++b)
      if (!classes[a].angles.empty() && !classes[b].angles.empty())
        smallest =
            std::fmin(smallest, angle_between(classes[a].mean_angle(), classes[b].mean_angle()));
  return degrees(smallest);
}

std::string draw_embedding(const std::vector<ClassOnCircle>& classes) {
  gh::ScatterPlot plot;
  plot.unit_circle = true;
  plot.extent = 1.15;
  // One ring a class, so that classes that fall together stay visible.
  for (std::size_t c = 0; c < classes.size(); ++c) {
    gh::PlotSeries ring{.name = classes[c].name, .x = {}, .y = {}};
    const double radius = 1 - 0.09 * static_cast<double>(c);
    for (const double a : classes[c].angles) {
      ring.x.push_back(radius * std::cos(a));
      ring.y.push_back(radius * std::sin(a));
    }
    plot.add(std::move(ring));
  }
  return plot.svg();
}

std::string draw_data(const gh::Features& data, const std::vector<ClassOnCircle>& classes) {
  gh::ScatterPlot plot;
  std::vector<gh::PlotSeries> series(classes.size());
  for (std::size_t c = 0; c < classes.size(); ++c) series[c].name = classes[c].name;
  const at::Tensor x = data.x.to(at::kDouble).contiguous();
  const auto point = x.accessor<double, 2>();
  const auto label = data.targets.accessor<int64_t, 1>();
  for (int64_t i = 0; i < x.size(0); ++i) {
    series[label[i]].x.push_back(point[i][0]);
    series[label[i]].y.push_back(point[i][1]);
  }
  for (gh::PlotSeries& s : series) plot.add(std::move(s));
  return plot.svg();
}

class Circle final : public gh::Evaluator {
 public:
  explicit Circle(const gh::Params& params) : split_(params.text("split")) {}

  void check(const gh::EvalFacts& facts, gh::Complaints& out) const override {
    if (facts.embedding_width != 2)
      out.add(".method", "the circle evaluator draws embeddings of width 2, this method gives " +
                             std::to_string(facts.embedding_width));
    if (!facts.class_targets) out.add(".data", "the circle evaluator needs class labels");
    gh::check_labelled_split(facts, split_, "split", out);
  }

  void evaluate(gh::Evaluation& evaluation) override {
    using gh::FeatureLevel;
    const auto& embedding =
        evaluation.features({.level = FeatureLevel::embedding, .split = split_});
    std::vector<ClassOnCircle> classes = read_classes(embedding);
    share_circle(classes);

    const auto head = std::max_element(
        classes.begin(), classes.end(),
        [](const auto& a, const auto& b) { return a.angles.size() < b.angles.size(); });
    evaluation.metric("head_share", head->share,
                      "part of the circle whose nearest embedded sample is of the largest class; "
                      "1/classes is even");
    evaluation.metric("smallest_angle", smallest_mean_angle(classes),
                      "smallest angle between two class means, degrees; 360/classes is even");
    std::vector<std::vector<std::string>> rows;
    for (const ClassOnCircle& c : classes)
      rows.push_back({c.name, std::to_string(c.angles.size()), fixed(c.share, 3),
                      fixed(degrees(c.mean_angle()), 1), fixed(c.concentration(), 3)});
    const std::vector<std::string> columns = {"class", "samples", "share of circle",
                                              "mean angle, degrees",
                                              "concentration (1: one place, 0: all around)"};
    evaluation.table("classes", "Each class on the circle, " + std::string(split_) + " split",
                     columns, rows);

    const auto& data = evaluation.features({.level = FeatureLevel::input, .split = split_});
    if (data.x.dim() == 2 && data.x.size(1) == 2)
      evaluation.picture("data", "The samples", "image/svg+xml", draw_data(data, classes));
    evaluation.picture("embedding", "Their embedding: directions on the circle, one ring a class",
                       "image/svg+xml", draw_embedding(classes));
  }

 private:
  std::string_view split_;
};

constexpr gh::Param kParams[] = {
    gh::text("split", "\"train\"", "which samples to embed; train is the thinned training set"),
};
constexpr gh::Component kComponents[] = {
    gh::describe<Circle>(
        "circle", "share of the circle and angles between class means of a 2-D embedding", kParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "Numbers and pictures for the paper's two-dimensional toy")
