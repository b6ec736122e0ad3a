#include "search.hpp"
#include "support/plugin_fixture.hpp"
#include "support/temporary_directory.hpp"
#include "support/vectors.hpp"

#include "gh/digest.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros_like.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <numbers>
#include <regex>
#include <sstream>

namespace {

using namespace gh;
using gradient::Form;
using test::largest_difference;

auto gradient_structure(const std::string& params) {
  return test::load<Structure>("gradient", params);
}

double largest_cosine(const at::Tensor& m) {
  return (m.matmul(m.t()) - 4 * at::eye(m.size(0), at::kDouble)).max().item<double>();
}

Form form_of(const std::string& name) { return name == "row" ? Form::row : Form::all; }

// ---- the objective ----

TEST_CASE("the structure objective and its gradient equal those of the references", "[parity]") {
  const auto file = test::find_vector("structure_objective");
  if (!file) return;
  const std::regex pattern("(row|all)_(objective|gradient)_tau(.+)");
  int compared = 0;
  for (const auto& [name, expected] : file->tensors) {
    std::smatch parts;
    if (!std::regex_match(name, parts, pattern)) continue;
    INFO(name);
    const auto found =
        gradient::objective(form_of(parts[1]), file->at("M"), std::stod(parts[3].str()));
    if (parts[2] == "objective")
      CHECK(std::abs(found.value - expected.item<double>()) < 1e-10);
    else
      CHECK(largest_difference(found.gradient, expected) < 1e-10);
    ++compared;
  }
  CHECK(compared >= 4);
}

TEST_CASE("Adam on the structure objective takes the reference's steps", "[parity]") {
  const auto file = test::find_vector("structure_objective");
  if (!file) return;
  const std::string text = file->metadata.at("adam");
  const std::string real = R"(([0-9.eE+-]+))";
  std::smatch s;
  REQUIRE(std::regex_match(text, s,
                           std::regex("lr " + real + ", betas " + real + " " + real + ", eps " +
                                      real + ", tau " + real + ", ([0-9]+) steps")));
  const double lr = std::stod(s[1]), beta1 = std::stod(s[2]), beta2 = std::stod(s[3]);
  const double eps = std::stod(s[4]), tau = std::stod(s[5]);
  const int64_t steps = std::stoll(s[6]);
  const at::Tensor losses = file->at("adam_losses");
  REQUIRE(losses.size(0) == steps + 1);
  at::Tensor m = file->at("M").clone(), mean = at::zeros_like(m), square = at::zeros_like(m);
  for (int64_t i = 0; i < steps; ++i) {
    const auto [value, slope] = gradient::objective(Form::row, m, tau);
    CHECK(std::abs(value - losses[i].item<double>()) < 1e-10);
    mean = beta1 * mean + (1 - beta1) * slope;
    square = beta2 * square + (1 - beta2) * slope * slope;
    const double n = static_cast<double>(i + 1);
    m = m -
        lr * (mean / (1 - std::pow(beta1, n))) / ((square / (1 - std::pow(beta2, n))).sqrt() + eps);
  }
  CHECK(std::abs(gradient::objective(Form::row, m, tau).value - losses[steps].item<double>()) <
        1e-10);
  CHECK(largest_difference(m, file->at("adam_x_after" + std::to_string(steps))) < 1e-10);
}

TEST_CASE("the structure objective agrees with automatic differentiation down to small tau") {
  for (const double tau : {0.5, 0.05, 0.01})
    for (const Form form : {Form::all, Form::row}) {
      INFO("tau " << tau);
      const at::Tensor m = at::randn({70, 3}, at::kDouble).set_requires_grad(true);
      const at::Tensor x = m / m.norm(2, {1}, true), s = x.matmul(x.t()) / tau;
      const at::Tensor value =
          form == Form::all ? at::logsumexp(s, {0, 1}) : at::logsumexp(s, {1}).mean();
      value.backward();
      const auto found = gradient::objective(form, m.detach(), tau);
      CHECK(found.value == Approx(value.item<double>()).epsilon(1e-12));
      CHECK(largest_difference(found.gradient, m.grad()) <
            1e-10 * (1 + m.grad().abs().max().item<double>()));
    }
}

TEST_CASE("the direction of the gradient survives where the gradient is smaller than any float") {
  at::Tensor x = at::randn({20, 16}, at::kFloat);
  x = x / x.norm(2, {1}, true);
  gradient::Potential all(Form::all, 20, 16, x.options()), row(Form::row, 20, 16, x.options());
  const auto a = all.at(x, 1e-4), b = row.at(x, 1e-4);
  CHECK(std::exp(a.log_scale) == 0);
  CHECK(a.direction.norm().item<double>() > 0.1);
  // The terms i = j outweigh all others, so that both objectives have the same direction.
  CHECK(largest_difference(a.direction / a.direction.norm(), b.direction / b.direction.norm()) <
        1e-5);
}

// ---- the points ----

TEST_CASE("gradient finds the best arrangements that are known") {
  struct Known {
    int64_t points, width;
    double cosine, tolerance;
  };
  const double turn = 2 * std::numbers::pi;
  for (const Known& known :
       {Known{2, 3, -1, 1e-9}, Known{3, 2, -0.5, 1e-3}, Known{9, 8, -1.0 / 8, 1e-3},
        Known{7, 2, std::cos(turn / 7), 1e-3}, Known{12, 3, 1 / std::sqrt(5.0), 1e-3},
        Known{32, 16, 0, 1e-3}, Known{200, 128, 0, 3e-3}}) {
    for (const std::string form : {"all", "row"}) {
      if (form == "row" && known.points > 100) continue;
      INFO(form << ": " << known.points << " points in " << known.width << " dimensions");
      const auto structure = gradient_structure("cache = false\nobjective = '" + form +
                                                "'\npoints = " + std::to_string(known.points));
      const at::Tensor m = structure->points(known.width, Random(5));
      CHECK(m.size(0) == known.points);
      CHECK((m.norm(2, {1}) - 1).abs().max().item<double>() < 1e-12);
      CHECK(m.sum(0).norm().item<double>() < 1e-12);
      CHECK(largest_cosine(m) < known.cosine + known.tolerance);
    }
  }
}

TEST_CASE("gradient minimises the objective at the temperature it is asked for") {
  at::Tensor start = at::randn({60, 8}, at::kDouble);
  start = start / start.norm(2, {1}, true);
  gradient::Potential potential(Form::all, 60, 8, start.options());
  struct Found {
    double value, slope;
  };
  const auto at_tenth = [&](const at::Tensor& x) -> Found {
    const auto slope = potential.at(x, 0.1);
    return {slope.value, std::exp(slope.log_scale) * slope.direction.norm().item<double>()};
  };
  const auto found = [&](double tau) {
    return at_tenth(gradient::search({.form = Form::all, .tau = tau, .steps = 500}, start));
  };
  const Found before = at_tenth(start), after = found(0.1), other = found(0.002);
  CHECK(after.slope < 0.02 * before.slope);
  CHECK(after.slope < 0.5 * other.slope);
  CHECK(after.value < other.value);
  CHECK(other.value < before.value);
}

TEST_CASE("gradient gives the same bits for any number of threads") {
  const int threads = at::get_num_threads();
  for (const int64_t k : {2, 3, 63, 130, 257}) {
    const auto structure = gradient_structure(
        "cache = false\nsteps = 12\nobjective = 'row'\npoints = " + std::to_string(k));
    at::set_num_threads(1);
    const at::Tensor one = structure->points(16, Random(2));
    for (const int n : {2, 3}) {
      at::set_num_threads(n);
      INFO(k << " points, " << n << " threads");
      CHECK(structure->points(16, Random(2)).equal(one));
    }
  }
  at::set_num_threads(threads);
}

TEST_CASE("gradient depends on its random stream, and refuses a line") {
  const auto structure = gradient_structure("cache = false\nsteps = 5\npoints = 9");
  CHECK_FALSE(structure->points(4, Random(1)).equal(structure->points(4, Random(2))));
  test::CollectedComplaints complaints;
  structure->check(1, complaints);
  CHECK_THAT(complaints.text, Catch::StartsWith("points: "));
  CHECK_THROWS_AS(structure->points(1, Random(1)), Error);
}

// ---- the cache ----

class CacheHome {
 public:
  explicit CacheHome(const std::filesystem::path& place) {
    if (const char* value = std::getenv("XDG_CACHE_HOME")) before_ = value;
    ::setenv("XDG_CACHE_HOME", place.c_str(), 1);
  }
  ~CacheHome() {
    before_ ? ::setenv("XDG_CACHE_HOME", before_->c_str(), 1) : ::unsetenv("XDG_CACHE_HOME");
  }

 private:
  std::optional<std::string> before_;
};

std::vector<std::filesystem::path> files_in(const std::filesystem::path& place) {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(place))
    if (entry.is_regular_file()) out.push_back(entry.path());
  return out;
}

std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void overwrite(const std::filesystem::path& file, const std::string& content) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
}

constexpr const char* kSmall = "points = 9\nsteps = 5\n";

TEST_CASE("gradient keeps its points on disk and reads them back") {
  const test::TemporaryDirectory place;
  const CacheHome home(place.path());
  const at::Tensor computed = gradient_structure(kSmall)->points(4, Random(1));
  REQUIRE(files_in(place.path()).size() == 1);
  const auto file = files_in(place.path())[0];
  CHECK(file.parent_path() == place.path() / "ghhost" / "structures");
  CHECK(gradient_structure(kSmall)->points(4, Random(1)).equal(computed));

  // Other numbers under the same key, properly sealed: what comes back is what the file says.
  const at::Tensor other = -computed;
  const std::string numbers(static_cast<const char*>(other.data_ptr()), other.nbytes());
  std::istringstream lines(content_of(file));
  std::string magic, key;
  std::getline(lines, magic);
  std::getline(lines, key);
  overwrite(file,
            magic + "\n" + key + "\n" + Digest().add(key).add(numbers).hex() + "\n" + numbers);
  CHECK(gradient_structure(kSmall)->points(4, Random(1)).equal(other));
  CHECK(gradient_structure(std::string(kSmall) + "cache = false")
            ->points(4, Random(1))
            .equal(computed));
}

TEST_CASE("gradient computes again where the file is damaged, cut, too long or another's") {
  const test::TemporaryDirectory place;
  const CacheHome home(place.path());
  const auto structure = gradient_structure(kSmall);
  const at::Tensor computed = structure->points(4, Random(1));
  const auto file = files_in(place.path()).at(0);
  const std::string whole = content_of(file);
  structure->points(4, Random(2));
  std::string foreign;
  for (const auto& f : files_in(place.path()))
    if (f != file) foreign = content_of(f);
  REQUIRE(foreign.size() == whole.size());
  std::string flipped = whole;
  flipped[whole.size() - 3] ^= 1;
  for (const std::string& bad : {flipped, whole.substr(0, whole.size() - 8), whole.substr(0, 20),
                                 whole + "x", foreign, std::string()}) {
    overwrite(file, bad);
    CHECK(structure->points(4, Random(1)).equal(computed));
    CHECK(content_of(file) == whole);
  }
}

TEST_CASE("gradient's cache tells apart whatever decides the numbers") {
  const test::TemporaryDirectory place;
  const CacheHome home(place.path());
  size_t files = 0;
  for (const std::string params :
       {"points = 9\nsteps = 5", "points = 8\nsteps = 5", "points = 9\nsteps = 6",
        "points = 9\nsteps = 5\ntau = 0.003", "points = 9\nsteps = 5\nobjective = 'row'"}) {
    gradient_structure(params)->points(4, Random(1));
    CHECK(files_in(place.path()).size() == ++files);
  }
  gradient_structure(kSmall)->points(5, Random(1));
  gradient_structure(kSmall)->points(4, Random(2));
  CHECK(files_in(place.path()).size() == files + 2);
}

TEST_CASE("gradient needs no cache") {
  const test::TemporaryDirectory place;
  const CacheHome home(place.write("a file", "where the directory would be"));
  const at::Tensor m = gradient_structure(kSmall)->points(4, Random(1));
  CHECK(m.equal(gradient_structure(std::string(kSmall) + "cache = false")->points(4, Random(1))));
}

}  // namespace
