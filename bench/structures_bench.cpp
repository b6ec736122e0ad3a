// What bench/structures.py runs: the gradient plugin without its cache, and the host's certificate.
//
//   structures_bench THREADS WIDTH
//
// Reads "POINTS SEED" from standard input, one a line, and answers each with a line of JSON.
#include "harmonize/certificate.hpp"
#include "plugins/registry.hpp"
#include "recipe/schema.hpp"
#include "recipe/toml.hpp"

#include <ATen/Parallel.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <iostream>

namespace {

using namespace gh;
using namespace gh::host;

void measure(Registry& registry, int64_t points, int64_t width, uint64_t seed) {
  const auto found = registry.find(GH_KIND_STRUCTURE, "gradient");
  if (!found.schema) throw std::runtime_error(found.problem);
  Diagnostics problems;
  const auto table =
      parse_toml("cache = false\npoints = " + std::to_string(points), "bench", problems);
  const auto params =
      make_params(*found.schema, apply_schema(*found.schema, *table, {}, "gradient", {}, problems));
  if (problems.has_errors()) throw std::runtime_error(problems.text());
  const auto structure = registry.create<Structure>("gradient", *params);

  using Clock = std::chrono::steady_clock;
  const auto started = Clock::now();
  const at::Tensor m = structure->points(width, Random(seed));
  const std::chrono::duration<double> search = Clock::now() - started;
  const auto certifying = Clock::now();
  const Certificate certificate = certify(m);
  const std::chrono::duration<double> certified = Clock::now() - certifying;
  std::cout << nlohmann::json{{"seconds", search.count()},
                              {"largest_cosine", certificate.largest_cosine},
                              {"zero_sum", certificate.zero_sum},
                              {"bound", certificate.bound.cosine},
                              {"certificate_seconds", certified.count()}}
            << std::endl;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::cerr << "usage: structures_bench THREADS WIDTH\n";
    return 2;
  }
  at::set_num_threads(std::stoi(argv[1]));
  Registry registry(default_search_path({}));
  int64_t points = 0;
  uint64_t seed = 0;
  while (std::cin >> points >> seed) measure(registry, points, std::stoll(argv[2]), seed);
  return 0;
} catch (const std::exception& e) {
  std::cerr << e.what() << '\n';
  return 1;
}
