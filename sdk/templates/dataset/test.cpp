// @NAME@: as many samples of each class as the parameters say, and the same for the same seed.
#include "gh/testing.hpp"

#include <cstdio>

namespace {
struct Row final : gh::SampleSink {
  std::vector<float> values;
  void vector(std::span<const float> given) override { values.assign(given.begin(), given.end()); }
  void pixels(std::span<const uint8_t>, int64_t, int64_t, int64_t) override {}
  void encoded(std::span<const uint8_t>, std::string_view) override {}
};
}  // namespace

int main(int, char** arguments) {
  gh::testing::Plugins plugins(arguments[1]);  // the built library
  const auto dataset = plugins.make<gh::Dataset>("@NAME@", "classes = 3\nper_class = 4");
  const auto row = [&](uint64_t seed) {
    Row row;
    dataset->open("train", seed)->read(5, row);
    return row.values;
  };
  const auto train = dataset->open("train", 0);
  const bool counted = train->size() == 12 && train->targets().eq(1).sum().item<int64_t>() == 4;
  const bool seeded = row(0) == row(0) && row(0) != row(1);
  std::printf("counted %d, seeded %d\n", counted, seeded);
  return counted && seeded ? 0 : 1;
}
