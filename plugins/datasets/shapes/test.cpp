#include "support/plugin_fixture.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <cmath>
#include <set>
#include <thread>
#include <vector>

namespace {

using namespace gh;

class KeptPicture final : public SampleSink {
 public:
  void vector(std::span<const float>) override { FAIL("a vector"); }
  void encoded(std::span<const uint8_t>, std::string_view) override { FAIL("a file"); }
  void pixels(std::span<const uint8_t> values, int64_t height, int64_t width,
              int64_t channels) override {
    REQUIRE(static_cast<int64_t>(values.size()) == height * width * channels);
    shape = {channels, height, width};
    kept.assign(values.begin(), values.end());
  }
  std::string kept;
  std::vector<int64_t> shape;
};

std::string picture(const Split& split, int64_t index) {
  KeptPicture sink;
  split.read(index, sink);
  CHECK(sink.shape == split.sample_shape());
  return sink.kept;
}

double level(const std::string& picture, std::size_t at) {
  return static_cast<unsigned char>(picture[at]);
}

// Of a picture of 32×32 those that differ from the corners, which are background nearly always.
double painted_pixels(const std::string& p) {
  double corners = 0, inside = 0;
  for (const std::size_t at : {0UL, 31UL, 31UL * 32, 1023UL})
    for (std::size_t c = 0; c < 3; ++c) corners += level(p, 3 * at + c) / 12;
  for (std::size_t at = 0; at < 1024; ++at)
    inside += std::abs((level(p, 3 * at) + level(p, 3 * at + 1) + level(p, 3 * at + 2)) / 3 -
                       corners) > 50;
  return inside;
}

TEST_CASE("shapes has the classes, samples and size asked for") {
  auto shapes =
      test::load<Dataset>("shapes", "classes = 24\nper_class = 3\ntest_per_class = 2\nsize = 20");
  CHECK(shapes->splits() == std::vector<std::string>{"train", "test"});
  const auto train = shapes->open("train", 0);
  REQUIRE(train->size() == 72);
  CHECK(shapes->open("test", 0)->size() == 48);
  for (int64_t i = 0; i < 72; ++i) CHECK(train->targets()[i].item<int64_t>() == i / 3);
  CHECK(train->sample_shape() == std::vector<int64_t>{3, 20, 20});
  const auto names = train->class_names();
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == 24);
  CHECK(names[0] == "disc");
  CHECK(names[12] == "outlined disc");
  CHECK_THROWS_WITH(shapes->open("validation", 0), Catch::Contains("train and test"));
}

TEST_CASE("shapes is a function of seed, split and sample, on any thread") {
  auto few = test::load<Dataset>("shapes", "classes = 2\nper_class = 5");
  auto more = test::load<Dataset>("shapes", "classes = 24\nper_class = 7");
  const auto train = few->open("train", 1);
  std::set<std::string> different;
  for (int64_t i = 0; i < 10; ++i) different.insert(picture(*train, i));
  different.insert(picture(*few->open("test", 1), 0));
  different.insert(picture(*few->open("train", 2), 0));
  CHECK(different.size() == 12);

  KeptPicture there;
  std::thread thread([&] { train->read(9, there); });
  const auto here = picture(*train, 9);
  thread.join();
  CHECK(here == there.kept);
  // A sample stays when classes and samples are added: sample 4 of class 1.
  CHECK(here == picture(*more->open("train", 1), 1 * 7 + 4));
}

TEST_CASE("shapes names everything a picture depends on in its fingerprint") {
  const auto print = [](const char* params, const char* split, uint64_t seed) {
    return test::load<Dataset>("shapes", params)->open(split, seed)->fingerprint();
  };
  std::set<std::string> prints = {
      print("", "train", 1),          print("", "train", 2),
      print("", "test", 1),           print("classes = 11", "train", 1),
      print("size = 33", "train", 1), print("per_class = 501", "train", 1)};
  CHECK(prints.size() == 6);
  CHECK(print("", "train", 1) == "shapes-1:classes=10,per_class=500,size=32,split=train,seed=1");
}

TEST_CASE("shapes stand out from their background, whole and outlined") {
  auto shapes = test::load<Dataset>("shapes", "classes = 24\nper_class = 40");
  const auto split = shapes->open("train", 5);
  const auto painted = [&](int64_t label) {
    double total = 0;
    for (int64_t i = 0; i < 40; ++i) total += painted_pixels(picture(*split, label * 40 + i)) / 40;
    return total;
  };
  double all_solid = 0, all_outlined = 0;
  for (int64_t label = 0; label < 12; ++label) {
    const double solid = painted(label), outlined = painted(label + 12);
    CAPTURE(label, solid, outlined);
    CHECK(solid > 60);
    CHECK(outlined > 30);
    CHECK(outlined < solid);
    all_solid += solid;
    all_outlined += outlined;
  }
  CHECK(all_outlined < 0.8 * all_solid);
}

TEST_CASE("shapes of a class have no mean colour of their own") {
  constexpr int64_t kClasses = 10, kEach = 100;
  auto shapes = test::load<Dataset>("shapes", "per_class = 100");
  const auto split = shapes->open("train", 3);
  std::vector<std::array<double, 3>> means(kClasses * kEach);
  for (std::size_t i = 0; i < means.size(); ++i) {
    const std::string p = picture(*split, static_cast<int64_t>(i));
    for (std::size_t at = 0; at < p.size(); ++at) means[i][at % 3] += level(p, at) / 1024;
  }
  // Of the other pictures, the one of the nearest colour is of the same class by chance only.
  int64_t same = 0;
  for (std::size_t i = 0; i < means.size(); ++i) {
    double nearest = 1e30;
    std::size_t found = i;
    for (std::size_t j = 0; j < means.size(); ++j) {
      double distance = 0;
      for (std::size_t k = 0; k < 3; ++k) distance += std::pow(means[i][k] - means[j][k], 2);
      if (j != i && distance < nearest) nearest = distance, found = j;
    }
    same += found / kEach == i / kEach;
  }
  CHECK(static_cast<double>(same) / (kClasses * kEach) < 0.14);
}

TEST_CASE("shapes gives radii as real targets, rare where large, alike in the test split") {
  const std::string params = "classes = 12\nper_class = 300\ntest_per_class = 300\nsize = 32";
  auto radii = test::load<Dataset>("shapes", params + "\ntargets = 'radius'");
  const auto train = radii->open("train", 1), test = radii->open("test", 1);
  CHECK(train->target_kind() == TargetKind::real);
  CHECK(train->targets().scalar_type() == at::kDouble);
  CHECK(train->fingerprint() !=
        test::load<Dataset>("shapes", params)->open("train", 1)->fingerprint());
  const auto ends = [](const Split& split) {
    const at::Tensor t = split.targets();
    CHECK(t.min().item<double>() >= 22);
    CHECK(t.max().item<double>() < 40);
    return std::pair((t < 25).sum().item<double>(), (t >= 37).sum().item<double>());
  };
  CHECK(test->size() == 12 * 300);
  const auto [small, large] = ends(*test);
  CHECK(large / small == Approx(1).margin(0.2));
  // Frequencies fall by 20 over the range, so by 20^(15/18) from the first sixth to the last.
  const auto [frequent, rare] = ends(*train);
  CHECK(frequent / rare == Approx(std::pow(20, 15.0 / 18)).epsilon(0.35));
  // The radius is that of the picture: what discs cover grows with its square.
  double squares = 0, cover = 0, both = 0, squared = 0, covered = 0;
  for (int64_t i = 0; i < 300; ++i) {
    const double r = test->targets()[i].item<double>(), s = r * r;
    const double c = painted_pixels(picture(*test, i));
    squares += s / 300;
    cover += c / 300;
    both += s * c / 300;
    squared += s * s / 300;
    covered += c * c / 300;
  }
  const double correlation = (both - squares * cover) /
                             std::sqrt((squared - squares * squares) * (covered - cover * cover));
  CHECK(correlation > 0.5);
}

}  // namespace
