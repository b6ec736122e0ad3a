// What bench/views.py runs: our side of a measurement, and views to compare before it.
//
//   views_bench speed RECIPE SECONDS [override…]    batches as fast as they come; JSON on stdout
//   views_bench decoded RECIPE SECONDS [override…]  the same from pictures decoded beforehand
//   views_bench dump RECIPE FILE COUNT [override…]  the views of the first COUNT samples as bytes
//                                                   and as normalised floats, FILE.json what was
//                                                   drawn for them
//   views_bench dump-decoded …                      the same from pictures decoded beforehand
#include "data/loader.hpp"
#include "plan/plan.hpp"
#include "plugins/component_call.hpp"
#include "plugins/registry.hpp"
#include "recipe/recipe.hpp"
#include "weights/safetensors.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>

namespace {

using namespace gh;
using namespace gh::host;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The most memory this process ever had.
double peak_megabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
  return 0;
}

// Pictures of another split, decoded once and handed out as pixels.
class DecodedSplit final : public Split {
 public:
  explicit DecodedSplit(const SampleSet& files) {
    class Keep final : public SampleSink {
     public:
      explicit Keep(std::vector<InterleavedImage>& out) : out_(out) {}
      void vector(std::span<const float>) override {}
      void pixels(std::span<const uint8_t>, int64_t, int64_t, int64_t) override {}
      void encoded(std::span<const uint8_t> bytes, std::string_view) override {
        const ImageSize size = decoder_.open(bytes);
        decoder_.read({0, 0, size.height, size.width}, out_.emplace_back());
      }

     private:
      std::vector<InterleavedImage>& out_;
      ImageDecoder decoder_;
    } keep(pictures_);
    for (int64_t i = 0; i < files.size(); ++i) files.read(i, keep);
  }
  int64_t size() const override { return static_cast<int64_t>(pictures_.size()); }
  TargetKind target_kind() const override { return TargetKind::none; }
  at::Tensor targets() const override { return {}; }
  std::vector<int64_t> sample_shape() const override { return {}; }
  void read(int64_t index, SampleSink& sink) const override {
    const InterleavedImage& picture = pictures_[index];
    sink.pixels({picture.pixels.data(), std::size_t{3} * picture.height * picture.width},
                picture.height, picture.width, 3);
  }
  std::string fingerprint() const override { return "decoded"; }

 private:
  std::vector<InterleavedImage> pictures_;
};

class DecodedSet final : public Dataset {
 public:
  explicit DecodedSet(const SampleSet& files) : files_(files) {}
  std::vector<std::string> splits() const override { return {"train"}; }
  std::unique_ptr<Split> open(std::string_view, uint64_t) const override {
    return std::make_unique<DecodedSplit>(files_);
  }

 private:
  const SampleSet& files_;
};

void speed(const SampleSet& set, const TrainPlan& plan, double seconds) {
  Loader loader(set, plan.views, plan.seed, plan.loader);
  int64_t samples = 0, epoch = 0;
  double started = 0, now = 0;
  // The first batches fill tables and buffers and are not counted.
  for (int64_t batches = 0; started == 0 || (now = seconds_now()) - started < seconds;) {
    loader.begin({.epoch = epoch,
                  .order = shuffled_order(plan.seed, epoch, set.size(), {}),
                  .batch = plan.batch,
                  .drop_last = true});
    while (const auto batch = loader.next()) {
      if (started > 0) samples += batch->indices.size(0);
      if (++batches == 4) started = seconds_now();
      if (started > 0 && seconds_now() - started >= seconds) break;
    }
    loader.reset();
    ++epoch;
  }
  now = seconds_now();
  std::cout << nlohmann::json{{"samples", samples},
                              {"seconds", now - started},
                              {"views_per_second",
                               static_cast<double>(samples * plan.views.count()) / (now - started)},
                              {"peak_megabytes", peak_megabytes()},
                              {"kernels", kernels().name}}
            << "\n";
}

nlohmann::json describe(const ViewDraw& d) {
  nlohmann::json boosted = nlohmann::json::array();
  for (int i = 0; i < d.boosted_count; ++i)
    boosted.push_back({{"op", name_of(d.boosted[i].op)}, {"value", d.boosted[i].value}});
  return {{"crop", {d.crop.top, d.crop.left, d.crop.height, d.crop.width}},
          {"mirror", d.mirror},
          {"jitter", d.jitter},
          {"order", d.jitter_order},
          {"factors", d.jitter_factor},
          {"grayscale", d.grayscale},
          {"blur", d.blur_sigma},
          {"solarize", d.solarize},
          {"boosted", boosted}};
}

// Both forms of a sample's views in one file: bytes to compare exactly, and the floats that are
// measured.
void dump(const SampleSet& set, const TrainPlan& plan, const std::string& file, int64_t count) {
  const int64_t views = plan.views.count();
  TensorFile out;
  nlohmann::json draws = nlohmann::json::array();
  for (const ViewFormat format : {ViewFormat::bytes, ViewFormat::floats}) {
    const bool bytes = format == ViewFormat::bytes;
    ViewMaker maker(set, plan.views, plan.seed, views, format);
    std::vector<at::Tensor> made;
    for (int64_t v = 0; v < views; ++v) {
      std::vector<int64_t> shape = plan.views.shape_of(v, {});
      shape.insert(shape.begin(), count);
      made.push_back(at::empty(shape, bytes ? at::kByte : at::kFloat));
      out.tensors.emplace_back(fmt::format("{}{}", bytes ? "bytes" : "floats", v), made.back());
    }
    std::vector<void*> rows(views);
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t v = 0; v < views; ++v) rows[v] = made[v][i].data_ptr();
      maker.make(i, 0, 0, rows);
      if (!bytes) continue;
      nlohmann::json sample = {{"position", set.position(i)}, {"views", nlohmann::json::array()}};
      for (const ViewDraw& draw : maker.draws()) sample["views"].push_back(describe(draw));
      draws.push_back(sample);
    }
  }
  write_safetensors(file, out);
  std::ofstream(file + ".json") << draws;
}

int run(const std::vector<std::string>& arguments) {
  const std::string& mode = arguments[0];
  const bool dumps = mode.starts_with("dump");
  const std::size_t fixed = dumps ? 4 : 3;
  Registry registry(default_search_path({}));
  Diagnostics problems;
  const std::vector<std::string> overrides(arguments.begin() + fixed, arguments.end());
  const Recipe recipe = load_recipe(arguments[1], overrides, registry, problems);
  std::cerr << problems.text();
  if (problems.has_errors()) return 78;
  const TrainPlan plan = read_plan(recipe);
  const Slot& slot = recipe.slot("data");
  const auto params = make_params(registry.info(GH_KIND_DATASET, slot.id).schema, slot.params);
  const auto dataset = registry.create<Dataset>(slot.id, *params);
  const double before = seconds_now();
  SampleSet set = SampleSet::open(*dataset, "train", plan.seed, plan.long_tail);
  std::cerr << fmt::format("opened {} samples in {:.3f} s\n", set.size(), seconds_now() - before);
  if (mode.ends_with("decoded")) set = SampleSet::open(DecodedSet(set), "train", 0, std::nullopt);
  if (dumps)
    dump(set, plan, arguments[2], std::stoll(arguments[3]));
  else
    speed(set, plan, std::stod(arguments[2]));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const bool dumps = argc > 1 && std::string_view(argv[1]).starts_with("dump");
    if (argc >= (dumps ? 5 : 4)) return run({argv + 1, argv + argc});
    std::cerr << "see the top of bench/views_bench.cpp\n";
    return 64;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
