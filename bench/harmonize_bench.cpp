// What bench/harmonize.py runs: the harmonizer's bookkeeping, and its loss with gradients, with the
// plugins of the product.
//
//   harmonize_bench FILE THREADS SAMPLES BATCH POINTS WIDTH
//
// Writes one batch after the other of an epoch to FILE (safetensors: logits, z1, z2, indices), then
// reads commands from standard input, one a line, and answers each with a line of JSON:
//   track N EPOCH   N batches into the momentum table → seconds, table and prior in FILE.out
//   term N          N times loss and gradients of a batch → seconds
#include "harmonize/harmonizer.hpp"
#include "machine/caching_allocator.hpp"
#include "plugins/registry.hpp"
#include "recipe/schema.hpp"
#include "recipe/toml.hpp"
#include "weights/safetensors.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <iostream>

namespace {

using namespace gh;
using namespace gh::host;

constexpr int64_t kWarmUp = 1, kRefresh = 20;

struct Sizes {
  int64_t samples, batch, points, width;
};

at::Tensor normal(int64_t rows, int64_t columns, const char* purpose) {
  const at::Tensor out = at::empty({rows, columns}, at::kFloat);
  Random(stream_key(0, purpose)).fill_normal(out, 0, 1);
  return out;
}

class Bench {
 public:
  Bench(std::string file, Sizes sizes)
      : file_(std::move(file)),
        sizes_(sizes),
        registry_(default_search_path({})),
        structure_(make<Structure>("etf", fmt::format("points = {}", sizes.points))),
        allocator_(make<Allocator>("sinkhorn", "")),
        order_(Random(7).permutation(sizes.samples)),
        tracker_(sizes.samples, sizes.points, tracker_plan()),
        harmonizer_({.tracker = {.warm_up = 0}, .ramp = 0},
                    structure_.component->points(sizes.width, Random(3)), *allocator_.component, {},
                    sizes.samples, at::kFloat, [](std::string_view, double) {}) {
    logits_ = normal(sizes.samples, sizes.points, "logits");
    logits_ /= logits_.norm(2, {1}, true);
    z1_ = normal(sizes.batch, sizes.width, "z1").set_requires_grad(true);
    z2_ = normal(sizes.batch, sizes.width, "z2").set_requires_grad(true);
    TensorFile out;
    out.tensors.emplace_back("logits", logits_);
    out.tensors.emplace_back("order", order_);
    write_safetensors(file_, out);
  }

  void track(int64_t batches, int64_t epoch) {
    for (int64_t i = 0; i < batches; ++i) {
      const int64_t from = i * sizes_.batch % (sizes_.samples - sizes_.batch + 1);
      const at::Tensor indices = order_.narrow(0, from, sizes_.batch);
      tracker_.update(logits_.narrow(0, from, sizes_.batch), indices, epoch);
    }
  }
  void write_tracked() {
    TensorFile out;
    out.tensors.emplace_back("table", tracker_.table());
    out.tensors.emplace_back("prior", tracker_.prior());
    write_safetensors(file_ + ".out", out);
  }
  void term(int64_t times) {
    const at::Tensor indices = order_.narrow(0, 0, sizes_.batch);
    for (int64_t i = 0; i < times; ++i) harmonizer_.term(z1_, z2_, indices, true, 0).backward();
  }

 private:
  template <class Interface>
  struct Part {
    std::unique_ptr<Params> params;
    ComponentPtr<Interface> component;
  };
  template <class Interface>
  Part<Interface> make(const std::string& id, const std::string& toml) {
    const Schema& schema = *registry_.find(InterfaceOf<Interface>::kind, id).schema;
    Diagnostics problems;
    Part<Interface> out;
    out.params = make_params(
        schema, apply_schema(schema, *parse_toml(toml, id, problems), {}, id, {}, problems));
    out.component = registry_.create<Interface>(id, *out.params);
    return out;
  }
  static TrackerPlan tracker_plan() { return {.warm_up = kWarmUp, .refresh = kRefresh}; }

  std::string file_;
  Sizes sizes_;
  Registry registry_;
  Part<Structure> structure_;
  Part<Allocator> allocator_;
  at::Tensor order_;
  PriorTracker tracker_;
  Harmonizer harmonizer_;
  at::Tensor logits_, z1_, z2_;
};

int run(const std::string& file, int threads, Sizes sizes) {
  install_caching_allocator();
  at::set_num_threads(threads);
  Bench bench(file, sizes);
  std::cout << "{}" << std::endl;  // ready
  std::string command;
  int64_t count = 0;
  while (std::cin >> command >> count) {
    int64_t epoch = 0;
    if (command == "track") std::cin >> epoch;
    const auto started = std::chrono::steady_clock::now();
    if (command == "track")
      bench.track(count, epoch);
    else
      bench.term(count);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;
    if (command == "track") bench.write_tracked();
    std::cout << nlohmann::json{{"seconds", seconds.count()}} << std::endl;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 7)
      return run(
          argv[1], std::stoi(argv[2]),
          {std::stoll(argv[3]), std::stoll(argv[4]), std::stoll(argv[5]), std::stoll(argv[6])});
    std::cerr << "see the top of bench/harmonize_bench.cpp\n";
    return 64;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
