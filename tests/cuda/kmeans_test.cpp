#include "sdk/ops/cuda/kmeans.cu"

#include "support/vectors.hpp"  // before Catch, whose CHECK is the one we mean

#include "cuda/orders.hpp"

#include <catch2/catch.hpp>

namespace {

using gh::cuda::KMeansMetric;

struct Problem {
  int rows = 0, width = 0, clusters = 0;
  KMeansMetric metric = KMeansMetric::euclidean;
  int iterations = 25;
  std::vector<float> x, start;
};

struct Solution {
  std::vector<float> centres;
  std::vector<int> labels;
  double objective = 0;
  int64_t iterations = 0;
  bool operator==(const Solution&) const = default;
};

void to_unit_rows(std::vector<float>& x, int width) {
  for (size_t i = 0; i < x.size(); i += width) {
    double square = 0;
    for (int d = 0; d < width; ++d) square += double(x[i + d]) * x[i + d];
    for (int d = 0; d < width; ++d)
      x[i + d] = square > 0 ? static_cast<float>(x[i + d] / std::sqrt(square)) : 0;
  }
}

// Rows around as many points as there are clusters, each near enough to its own that rounding
// decides no label; the start is the first rows.
Problem problem_of(int rows, int width, int clusters, KMeansMetric metric) {
  std::mt19937 random(static_cast<unsigned>(rows * 7919 + width * 31 + clusters));
  const auto uniform = [&] { return static_cast<float>(random() >> 8) / (1 << 23) - 1; };
  std::vector<float> points(clusters * width);
  for (float& p : points) p = 3 * uniform();
  Problem p{rows, width, clusters, metric, 25, std::vector<float>(rows * width), {}};
  for (int i = 0; i < rows; ++i)
    for (int d = 0; d < width; ++d)
      p.x[i * width + d] =
          points[random() % clusters * width + d] * (d % 2 ? 1.0f : 0.5f) + uniform();
  if (metric == KMeansMetric::spherical) to_unit_rows(p.x, width);
  p.start.assign(p.x.begin(), p.x.begin() + clusters * width);
  return p;
}

// The definition in gh/ops/kmeans.hpp, computed in double.
Solution plain_loops(const Problem& p) {
  const bool spherical = p.metric == KMeansMetric::spherical;
  std::vector<double> centres(p.start.begin(), p.start.end());
  const auto dot = [&](int i, int j) {
    double sum = 0;
    for (int d = 0; d < p.width; ++d) sum += p.x[i * p.width + d] * centres[j * p.width + d];
    return sum;
  };
  const auto distance = [&](int i, int j) {
    double sum = 0;
    for (int d = 0; d < p.width; ++d)
      sum += std::pow(p.x[i * p.width + d] - centres[j * p.width + d], 2);
    return sum;
  };
  std::vector<int> labels(p.rows, -1);
  const auto assign = [&] {
    bool changed = false;
    for (int i = 0; i < p.rows; ++i) {
      int best = 0;
      for (int j = 1; j < p.clusters; ++j)
        if (spherical ? dot(i, j) > dot(i, best) : distance(i, j) < distance(i, best)) best = j;
      changed |= std::exchange(labels[i], best) != best;
    }
    return changed;
  };
  const auto update = [&] {
    std::vector<double> next(centres.size());
    std::vector<int> counts(p.clusters), far(p.rows);
    for (int i = 0; i < p.rows; ++i) {
      ++counts[labels[i]];
      for (int d = 0; d < p.width; ++d) next[labels[i] * p.width + d] += p.x[i * p.width + d];
    }
    std::iota(far.begin(), far.end(), 0);
    std::stable_sort(far.begin(), far.end(),
                     [&](int a, int b) { return distance(a, labels[a]) > distance(b, labels[b]); });
    const std::vector<int> members = counts;
    for (int j = 0, taken = 0; j < p.clusters && distance(far[0], labels[far[0]]) > 0; ++j) {
      if (members[j] > 0) continue;
      const int i = far[taken++];
      for (int d = 0; d < p.width; ++d) {
        next[labels[i] * p.width + d] -= p.x[i * p.width + d];
        next[j * p.width + d] = p.x[i * p.width + d];
      }
      --counts[labels[i]];
      counts[j] = 1;
    }
    const int largest =
        static_cast<int>(std::max_element(counts.begin(), counts.end()) - counts.begin());
    for (int j = 0; j < p.clusters; ++j) {
      double square = 0;
      for (int d = 0; d < p.width; ++d) square += std::pow(next[j * p.width + d], 2);
      for (int d = 0; d < p.width && counts[j] > 0; ++d)
        next[j * p.width + d] = !spherical    ? next[j * p.width + d] / counts[j]
                                : square == 0 ? centres[j * p.width + d]
                                              : next[j * p.width + d] / std::sqrt(square);
    }
    for (int j = 0; j < p.clusters; ++j)
      for (int d = 0; d < p.width && counts[j] == 0; ++d)
        next[j * p.width + d] = next[largest * p.width + d];
    for (double& value : next) value = static_cast<float>(value);  // as centres are stored
    const bool moved = next != centres;
    centres = next;
    return moved;
  };
  Solution out;
  bool over = false;
  while (!over && out.iterations < p.iterations) {
    ++out.iterations;
    over = !assign() || !update();
  }
  if (!over) assign();
  for (int i = 0; i < p.rows; ++i)
    out.objective += spherical ? dot(i, labels[i]) : distance(i, labels[i]);
  out.centres.assign(centres.begin(), centres.end());
  out.labels = labels;
  return out;
}

Solution run(const Problem& p) {
  return gh::test::same_in_all_orders([&] {
    Solution out{p.start, std::vector<int>(p.rows, -7), 0, 0};
    std::vector<double> room(gh::cuda::kmeans_workspace(p.rows, p.width, p.clusters) / 8, NAN);
    gh::cuda::KMeansOutcome outcome{};
    REQUIRE(gh::cuda::kmeans({p.x.data(), p.rows, p.width, p.clusters, p.metric, p.iterations,
                              out.centres.data(), out.labels.data()},
                             room.data(), nullptr, &outcome) == cudaSuccess);
    out.objective = outcome.objective;
    out.iterations = outcome.iterations;
    return out;
  });
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i)
    if (const double by = std::abs(double(a[i]) - b[i]); !(by <= worst)) worst = by;
  return worst;
}

// Sums are double; centres and rows are float32, values of which lie below 8 and 5e-7 apart.
constexpr double kTolerance = 1e-6;

void check(const Problem& p) {
  INFO(p.rows << "×" << p.width << ", " << p.clusters << " clusters");
  const Solution expected = plain_loops(p), found = run(p);
  CHECK(found.labels == expected.labels);
  CHECK(found.iterations == expected.iterations);
  CHECK(largest_difference(found.centres, expected.centres) < kTolerance);
  CHECK(found.objective == Approx(expected.objective).epsilon(1e-5));
}

}  // namespace

TEST_CASE("K-means of any shape gives the labels and centres of plain loops") {
  const int shapes[][3] = {{1, 1, 1},    {5, 3, 5},    {64, 16, 2},  {65, 17, 3},
                           {200, 33, 7}, {150, 5, 70}, {130, 140, 4}};
  for (const auto& [rows, width, clusters] : shapes)
    for (const KMeansMetric metric : {KMeansMetric::euclidean, KMeansMetric::spherical})
      check(problem_of(rows, width, clusters, metric));
}

TEST_CASE("K-means over several chunks of rows ends where it is told to") {
  Problem p = problem_of(5000, 3, 4, KMeansMetric::euclidean);
  p.iterations = 2;
  check(p);
}

TEST_CASE("of equally near centres the first gets the row") {
  Problem p = problem_of(100, 4, 3, KMeansMetric::euclidean);
  p.clusters = 70;  // twenty-three times the same three, in two tiles
  p.start.clear();
  for (int j = 0; j < 70; ++j)
    p.start.insert(p.start.end(), p.x.begin() + j % 3 * 4, p.x.begin() + j % 3 * 4 + 4);
  p.iterations = 1;
  Solution out{p.start, std::vector<int>(p.rows), 0, 0};
  std::vector<float> half_squares(70);
  int changed = 0;
  using namespace gh::cuda;
  REQUIRE(launch(halve_squares, dim3(18), dim3(128), 0, nullptr, p.start.data(), 70, 4,
                 half_squares.data()) == cudaSuccess);
  REQUIRE(launch(assign, dim3(2), dim3(256), 2 * kDepth * kStride * sizeof(float), nullptr,
                 p.x.data(), 100, 4, p.start.data(), half_squares.data(), 70, out.labels.data(),
                 &changed) == cudaSuccess);
  CHECK(*std::max_element(out.labels.begin(), out.labels.end()) == 2);
  CHECK(changed == 1);
}

TEST_CASE("a centre without rows takes the farthest row") {
  Problem p{6, 1, 3, KMeansMetric::euclidean, 25, {0, 1, 2, 3, 10, 11}, {1, 100, 200}};
  check(p);
  CHECK(run(p).labels != std::vector<int>(6, 0));
  p.x.assign(6, 4.0f);  // all rows on one centre: the others join it
  p.start = {4, 50, 60};
  check(p);
  CHECK(run(p).centres == std::vector<float>{4, 4, 4});
}

TEST_CASE("rows that cancel leave a spherical centre where it is") {
  const Problem p{2, 2, 1, KMeansMetric::spherical, 25, {1, 0, -1, 0}, {0, 1}};
  check(p);
  CHECK(run(p).centres == std::vector<float>{0, 1});
}

TEST_CASE("K-means kernels reproduce scikit-learn's") {
  const auto vector = gh::test::find_vector("kmeans");
  if (!vector) return;
  const auto floats = [&](const std::string& name) {
    const at::Tensor t = vector->at(name).to(at::kFloat).contiguous();
    return std::vector<float>(t.data_ptr<float>(), t.data_ptr<float>() + t.numel());
  };
  for (const std::string name : {"easy", "hard"})
    for (const std::string suffix : {"", "_it3"}) {
      INFO(name << suffix);
      const at::Tensor &x = vector->at(name + "_X"), &init = vector->at(name + "_init");
      Problem p;
      p.rows = static_cast<int>(x.size(0));
      p.width = static_cast<int>(x.size(1));
      p.clusters = static_cast<int>(init.size(0));
      p.iterations = suffix.empty() ? 25 : 3;
      p.x = floats(name + "_X");
      p.start = floats(name + "_init");
      const Solution found = run(p);
      const at::Tensor labels = vector->at(name + "_labels" + suffix).contiguous();
      CHECK(std::equal(found.labels.begin(), found.labels.end(), labels.data_ptr<int64_t>()));
      CHECK(found.iterations == vector->at(name + "_iterations" + suffix).item<int64_t>());
      CHECK(largest_difference(found.centres, floats(name + "_centroids" + suffix)) < kTolerance);
      CHECK(found.objective ==
            Approx(vector->at(name + "_inertia" + suffix).item<double>()).epsilon(1e-5));
    }
}
