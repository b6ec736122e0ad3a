// A map of the features of a few frequent and a few rare classes, by exact t-SNE: does the head
// leave the tail a place of its own?
#include "affinities.hpp"
#include "choice.hpp"
#include "descent.hpp"
#include "neighbours.hpp"

#include "gh/class_groups.hpp"
#include "gh/component.hpp"
#include "gh/feature_choice.hpp"
#include "gh/number_text.hpp"
#include "gh/plot.hpp"
#include "gh/split_checks.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

namespace {

constexpr std::size_t kMostClasses = 8;  // as many as there are colours
constexpr int64_t kNeighbours = 10;

struct ShownClass {
  int64_t label;
  std::string name, group;
  bool tail = false;          // of the group with the smallest classes
  int64_t samples = 0;        // in the split
  std::vector<int64_t> rows;  // of the map
};

std::string fixed(double value) { return gh::number_text("%.3f", value); }

// Cold colours for the head, warm ones for the tail, as long as there are some.
std::vector<std::size_t> colours_of(const std::vector<ShownClass>& classes) {
  constexpr std::array<std::size_t, kMostClasses> kHead = {0, 2, 5, 6, 3, 7, 1, 4};
  constexpr std::array<std::size_t, kMostClasses> kTail = {4, 1, 7, 3, 6, 5, 2, 0};
  std::vector<std::size_t> out;
  for (const ShownClass& c : classes)
    out.push_back(*std::find_if(
        (c.tail ? kTail : kHead).begin(), (c.tail ? kTail : kHead).end(),
        [&](std::size_t k) { return std::find(out.begin(), out.end(), k) == out.end(); }));
  return out;
}

void add_points(gh::PlotSeries& series, const ShownClass& c, const std::vector<float>& map) {
  const std::size_t n = map.size() / 2;
  for (const int64_t row : c.rows) {
    series.x.push_back(map[static_cast<std::size_t>(row)]);
    series.y.push_back(map[n + static_cast<std::size_t>(row)]);
  }
}

std::string draw_by_class(const std::vector<ShownClass>& classes, const std::vector<float>& map) {
  // The place of a series is its colour; places between stay empty.
  std::vector<gh::PlotSeries> series(kMostClasses);
  const std::vector<std::size_t> colours = colours_of(classes);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    series[colours[c]].name =
        classes[c].group + ": " + classes[c].name + ", " + std::to_string(classes[c].samples);
    add_points(series[colours[c]], classes[c], map);
  }
  gh::ScatterPlot plot;
  plot.size = 480;
  for (gh::PlotSeries& s : series) plot.add(std::move(s));
  return plot.svg();
}

std::string draw_by_group(const std::vector<ShownClass>& classes, const std::vector<float>& map) {
  std::vector<gh::PlotSeries> series;
  for (const ShownClass& c : classes) {
    auto found = std::find_if(series.begin(), series.end(),
                              [&](const gh::PlotSeries& s) { return s.name == c.group; });
    if (found == series.end()) found = series.insert(found, {.name = c.group, .x = {}, .y = {}});
    add_points(*found, c, map);
  }
  gh::ScatterPlot plot;
  plot.size = 320;
  for (gh::PlotSeries& s : series) plot.add(std::move(s));
  return plot.svg();
}

class Tsne final : public gh::Evaluator {
 public:
  explicit Tsne(const gh::Params& params)
      : chosen_(gh::read_features(params)),
        classes_(params.integers("classes").begin(), params.integers("classes").end()),
        head_(params.integer("head")),
        tail_(params.integer("tail")),
        samples_(params.integer("samples")),
        perplexity_(params.real("perplexity")),
        plan_{.iterations = params.integer("iterations"),
              .exaggeration = params.real("exaggeration")},
        principal_(params.text("start") == "pca") {}

  static void validate(const gh::Params& params, gh::Complaints& out);
  void check(const gh::EvalFacts& facts, gh::Complaints& out) const override;
  void evaluate(gh::Evaluation& evaluation) override;

 private:
  void check_perplexity(std::vector<int64_t> counts, gh::Complaints& out) const;
  std::vector<int64_t> chosen_labels(gh::Evaluation& evaluation, const gh::ClassGroups& groups,
                                     const std::vector<int64_t>& samples) const;
  std::vector<ShownClass> choose(gh::Evaluation& evaluation, at::Tensor& positions) const;
  std::vector<float> make_map(gh::Evaluation& evaluation, const at::Tensor& x,
                              const at::Tensor& distances) const;
  void report(gh::Evaluation& evaluation, const std::vector<ShownClass>& classes,
              const at::Tensor& distances, const std::vector<float>& map) const;

  gh::FeatureChoice chosen_;
  std::vector<int64_t> classes_;
  int64_t head_, tail_, samples_;
  double perplexity_;
  tsne::DescentPlan plan_;
  bool principal_;
};

// A sample's neighbourhood is some three times the perplexity; with fewer samples all are alike.
double largest_perplexity(int64_t samples) { return static_cast<double>(samples - 1) / 3; }

void Tsne::validate(const gh::Params& params, gh::Complaints& out) {
  const auto classes = params.integers("classes");
  const int64_t drawn = params.integer("head") + params.integer("tail");
  const auto shown = classes.empty() ? drawn : static_cast<int64_t>(classes.size());
  if (shown < 1 || shown > static_cast<int64_t>(kMostClasses))
    out.add(classes.empty() ? "head" : "classes",
            "the map tells 1 to 8 classes apart by colour, not " + std::to_string(shown));
  if (std::set<int64_t>(classes.begin(), classes.end()).size() != classes.size())
    out.add("classes", "a class stands here twice");
  if (params.real("perplexity") > largest_perplexity(params.integer("samples")))
    out.add("perplexity", "at most (samples − 1)/3, which is " +
                              fixed(largest_perplexity(params.integer("samples"))));
}

void Tsne::check(const gh::EvalFacts& facts, gh::Complaints& out) const {
  if (!gh::check_class_features(facts, chosen_, "the map shows classes: tsne needs class labels",
                                out))
    return;
  const std::vector<int64_t>* const counts = gh::class_counts_of(facts, chosen_.split);
  if (!counts) return;
  for (const int64_t c : classes_) {
    const bool known = c < static_cast<int64_t>(counts->size());
    if (!known)
      out.add("classes", "there is no class " + std::to_string(c) + "; labels go from 0 to " +
                             std::to_string(counts->size() - 1));
    else if ((*counts)[static_cast<std::size_t>(c)] == 0)
      out.add("classes",
              "class " + std::to_string(c) + " has no sample in split '" + chosen_.split + "'");
    if (!known || (*counts)[static_cast<std::size_t>(c)] == 0) return;
  }
  check_perplexity(*counts, out);
}

// Which classes are drawn is decided later: too few samples whatever is drawn is a complaint, too
// few of the smallest ones a warning.
void Tsne::check_perplexity(std::vector<int64_t> counts, gh::Complaints& out) const {
  int64_t least = 0, most = 0;
  if (classes_.empty()) {
    std::erase(counts, 0);
    std::sort(counts.begin(), counts.end());
    const auto shown = static_cast<std::ptrdiff_t>(
        std::min<std::size_t>(static_cast<std::size_t>(head_ + tail_), counts.size()));
    least = std::accumulate(counts.begin(), counts.begin() + shown, int64_t{0});
    most = std::accumulate(counts.end() - shown, counts.end(), int64_t{0});
  }
  for (const int64_t c : classes_) least += counts[static_cast<std::size_t>(c)];
  least = std::min(least, samples_);
  most = classes_.empty() ? std::min(most, samples_) : least;
  const auto words = [&](int64_t n) {
    return "at most (samples − 1)/3 of what is shown, which is " + fixed(largest_perplexity(n)) +
           " with " + std::to_string(n) + " samples; got " + fixed(perplexity_);
  };
  if (perplexity_ > largest_perplexity(most))
    out.add("perplexity", words(most));
  else if (perplexity_ > largest_perplexity(least))
    gh::warn(out, "perplexity", words(least) + ". That many there are if small classes are drawn");
}

std::vector<int64_t> Tsne::chosen_labels(gh::Evaluation& evaluation, const gh::ClassGroups& groups,
                                         const std::vector<int64_t>& samples) const {
  const auto known = static_cast<int64_t>(samples.size());
  for (const int64_t c : classes_) {
    gh::require(c < known, gh::ErrorCode::invalid_param, "there is no class ", c,
                "; labels go from 0 to ", known - 1);
    gh::require(samples[static_cast<std::size_t>(c)] > 0, gh::ErrorCode::missing_data, "class ", c,
                " has no sample in split '", chosen_.split, "'");
  }
  if (!classes_.empty()) return classes_;
  std::vector<int64_t> out =
      tsne::draw_classes(groups.groups.front().classes, samples, head_, evaluation.random("head"));
  const std::vector<int64_t> tail =
      tsne::draw_classes(groups.groups.back().classes, samples, tail_, evaluation.random("tail"));
  if (static_cast<int64_t>(out.size()) < head_ || static_cast<int64_t>(tail.size()) < tail_)
    evaluation.say(gh::Severity::info, "the groups have only " + std::to_string(out.size()) +
                                           " head and " + std::to_string(tail.size()) +
                                           " tail classes");
  out.insert(out.end(), tail.begin(), tail.end());
  gh::require(!out.empty(), gh::ErrorCode::missing_data,
              "no class of the first or last group has "
              "a sample in split '",
              chosen_.split, "'");
  return out;
}

// The classes, and the places of their samples in the split, ascending.
std::vector<ShownClass> Tsne::choose(gh::Evaluation& evaluation, at::Tensor& positions) const {
  const gh::Features& known =
      evaluation.features({.level = gh::FeatureLevel::none, .split = chosen_.split});
  gh::require(known.targets.defined() && known.targets.numel() > 0, gh::ErrorCode::missing_data,
              "split '", chosen_.split, "' has no labelled samples");
  const at::Tensor counts = evaluation.class_counts().contiguous();
  const gh::ClassGroups groups = gh::class_groups(chosen_.groups, counts);
  const at::Tensor targets = known.targets.contiguous();
  const int64_t* target = targets.data_ptr<int64_t>();
  std::vector<int64_t> samples(static_cast<std::size_t>(counts.numel()), 0);
  for (int64_t i = 0; i < targets.numel(); ++i) {
    gh::require(target[i] >= 0 && target[i] < counts.numel(), gh::ErrorCode::invalid_param,
                "label ", target[i], " of split '", chosen_.split,
                "' is none of the training set's ", counts.numel(), " classes");
    ++samples[static_cast<std::size_t>(target[i])];
  }

  std::vector<ShownClass> out;
  std::vector<int64_t> sizes;
  for (const int64_t label : chosen_labels(evaluation, groups, samples)) {
    const auto c = static_cast<std::size_t>(label);
    ShownClass shown{.label = label,
                     .name = c < known.class_names.size() ? known.class_names[c]
                                                          : "class " + std::to_string(label),
                     .group = "—",
                     .samples = samples[c],
                     .rows = {}};
    for (const gh::ClassGroup& group : groups.groups)
      if (std::find(group.classes.begin(), group.classes.end(), label) != group.classes.end())
        shown.group = group.name;
    shown.tail = shown.group == groups.groups.back().name;
    sizes.push_back(shown.samples);
    out.push_back(std::move(shown));
  }

  std::map<int64_t, std::pair<std::size_t, int64_t>> wanted;  // label → class, samples
  const std::vector<int64_t> shares = tsne::share_out(sizes, samples_);
  for (std::size_t c = 0; c < out.size(); ++c) wanted[out[c].label] = {c, shares[c]};
  const at::Tensor shuffled = evaluation.random("samples").permutation(targets.numel());
  std::vector<std::pair<int64_t, std::size_t>> taken;  // position, class
  for (int64_t i = 0; i < targets.numel(); ++i) {
    const int64_t position = shuffled.data_ptr<int64_t>()[i];
    const auto found = wanted.find(target[position]);
    if (found != wanted.end() && found->second.second-- > 0)
      taken.emplace_back(position, found->second.first);
  }
  std::sort(taken.begin(), taken.end());
  positions = at::empty({static_cast<int64_t>(taken.size())}, at::kLong);
  for (std::size_t i = 0; i < taken.size(); ++i) {
    positions.data_ptr<int64_t>()[i] = taken[i].first;
    out[taken[i].second].rows.push_back(static_cast<int64_t>(i));
  }
  return out;
}

std::vector<float> Tsne::make_map(gh::Evaluation& evaluation, const at::Tensor& x,
                                  const at::Tensor& distances) const {
  tsne::Forces forces(tsne::joint_affinities(distances.clone(), perplexity_));
  std::vector<float> map = principal_ ? tsne::principal_start(x, evaluation.random("start"))
                                      : tsne::random_start(x.size(0), evaluation.random("start"));
  tsne::DescentPlan plan = plan_;
  auto spoke = std::chrono::steady_clock::now();
  plan.watch = [&](int64_t done, double kl) {
    if (std::chrono::steady_clock::now() - spoke < std::chrono::seconds(20)) return;
    spoke = std::chrono::steady_clock::now();
    evaluation.say(gh::Severity::info, "iteration " + std::to_string(done) + " of " +
                                           std::to_string(plan.iterations) + ", KL " + fixed(kl));
  };
  const double kl = tsne::descend(forces, plan, map);
  evaluation.metric("kl", kl,
                    "KL divergence of the map's neighbourhoods from the features', nats; lower "
                    "is more faithful");
  return map;
}

void Tsne::report(gh::Evaluation& evaluation, const std::vector<ShownClass>& classes,
                  const at::Tensor& distances, const std::vector<float>& map) const {
  const auto n = static_cast<int64_t>(map.size() / 2);
  const int64_t k = std::min(kNeighbours, (n - 1) / 2);
  const at::Tensor flat = at::tensor(map, at::kFloat).view({2, n}).t();
  const auto in_map = tsne::nearest(tsne::squared_distances(flat), k);
  std::vector<int64_t> label(static_cast<std::size_t>(n));
  for (std::size_t c = 0; c < classes.size(); ++c)
    for (const int64_t row : classes[c].rows)
      label[static_cast<std::size_t>(row)] = static_cast<int64_t>(c);
  const auto kinds = static_cast<int64_t>(classes.size());
  const std::vector<double> map_purity = tsne::purity(in_map, label, kinds);
  const std::vector<double> data_purity = tsne::purity(tsne::nearest(distances, k), label, kinds);

  const std::string neighbours = std::to_string(k) + " nearest";
  evaluation.metric(
      "trustworthiness", tsne::trustworthiness(distances, in_map),
      "1 where the " + neighbours + " of each sample in the map are near in the features, too");
  const auto mean = [](const std::vector<double>& values) {
    double sum = 0, count = 0;
    for (const double value : values)
      if (!std::isnan(value)) {
        sum += value;
        ++count;
      }
    return sum / count;
  };
  evaluation.metric("map_purity", mean(map_purity),
                    "share of the " + neighbours +
                        " in the map (or as many as the class has others) that have the sample's "
                        "class, mean over the classes shown");
  evaluation.metric("feature_purity", mean(data_purity), "the same in the features");
  const std::vector<std::string> columns = {"class", "name",       "group",         "samples",
                                            "shown", "map purity", "feature purity"};
  std::vector<std::vector<std::string>> rows;
  for (std::size_t c = 0; c < classes.size(); ++c)
    rows.push_back({std::to_string(classes[c].label), classes[c].name, classes[c].group,
                    std::to_string(classes[c].samples), std::to_string(classes[c].rows.size()),
                    fixed(map_purity[c]), fixed(data_purity[c])});
  evaluation.table("classes",
                   "The classes of the map; purity: share of the " + neighbours +
                       ", or as many as the class has others, that have the same class",
                   columns, rows);
}

void Tsne::evaluate(gh::Evaluation& evaluation) {
  at::Tensor positions;
  const std::vector<ShownClass> classes = choose(evaluation, positions);
  const int64_t n = positions.numel();
  gh::require(perplexity_ <= largest_perplexity(n), gh::ErrorCode::invalid_param, "perplexity ",
              perplexity_, " is too large for ", n, " samples: at most (", n, " − 1)/3");
  const at::Tensor x =
      evaluation.features({.level = chosen_.level, .split = chosen_.split, .samples = positions})
          .x.flatten(1);
  const at::Tensor distances = tsne::squared_distances(x);
  const std::vector<float> map = make_map(evaluation, x, distances);
  report(evaluation, classes, distances, map);
  const std::string what = "t-SNE of " + std::to_string(n) + " samples of the " + chosen_.split +
                           " split, perplexity " + fixed(perplexity_);
  evaluation.picture("map",
                     what +
                         ". Cold colours: frequent classes, warm colours: rare ones; with the "
                         "number of samples in the split.",
                     "image/svg+xml", draw_by_class(classes, map));
  evaluation.picture("groups", "The same by group of classes.", "image/svg+xml",
                     draw_by_group(classes, map));
}

constexpr gh::Param kParams[] = {
    GH_TRAIN_SPLIT_PARAM("whose samples are shown"),
    GH_LEVEL_PARAM("backbone"),
    gh::integers("classes", "[]", "labels to show, at most eight; empty: drawn at random")
        .at_least(0)
        .at_most(1000000),
    gh::integer("head", "4", "classes drawn from the first group").at_least(0).at_most(1000),
    gh::integer("tail", "4", "classes drawn from the last group").at_least(0).at_most(1000),
    GH_GROUPS_PARAM,
    gh::integer("samples", "2000", "points at most; the largest classes are thinned first")
        .at_least(4)
        .at_most(10000),
    gh::real("perplexity", "30.0", "effective number of neighbours").at_least(1),
    gh::integer("iterations", "1000", "steps of the descent").at_least(1).at_most(10000000),
    gh::real("exaggeration", "12.0", "of the attraction in the first quarter, at most 250 steps")
        .at_least(1),
    gh::choice("start", "pca", "pca|random", "where points begin"),
};
constexpr gh::Component kComponents[] = {
    gh::describe<Tsne>("tsne", "map of the features of head and tail classes by exact t-SNE",
                       kParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "Exact t-SNE (van der Maaten and Hinton 2008) of what an encoder makes of samples")
