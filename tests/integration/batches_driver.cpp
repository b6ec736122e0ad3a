// Writes the batches that a recipe trains on, as the loader hands them over:
//   batches_driver RECIPE EPOCHS OUT.safetensors [override …]
// Tensors "epoch.step.view", and "epoch.step.indices".
#include "data/loader.hpp"
#include "plan/components.hpp"
#include "plan/plan.hpp"
#include "plugins/registry.hpp"
#include "plugins/search_path.hpp"
#include "recipe/recipe.hpp"
#include "weights/safetensors.hpp"

#include <cstdio>
#include <string>
#include <vector>

using namespace gh::host;

int main(int argc, char** argv) {
  if (argc < 4) return 64;
  Registry registry(default_search_path({}));
  Diagnostics problems;
  const std::vector<std::string> overrides(argv + 4, argv + argc);
  const Recipe recipe = load_recipe(argv[1], overrides, registry, problems);
  if (problems.has_errors()) {
    std::fputs(problems.text().c_str(), stderr);
    return 78;
  }
  const TrainPlan plan = read_plan(recipe);
  const Made<gh::Dataset> dataset = make_dataset(recipe, registry);
  const SampleSet set = SampleSet::open(*dataset, "train", plan.seed, plan.long_tail);
  Loader loader(set, plan.views, plan.seed, plan.loader);
  TensorFile out;
  for (int64_t epoch = 0; epoch < std::stoll(argv[2]); ++epoch) {
    loader.begin({.epoch = epoch,
                  .order = shuffled_order(plan.seed, epoch, set.size(), {}),
                  .batch = plan.batch,
                  .drop_last = plan.drop_last});
    for (int64_t step = 0; const auto batch = loader.next(); ++step) {
      const std::string name = std::to_string(epoch) + "." + std::to_string(step) + ".";
      for (std::size_t v = 0; v < batch->views.size(); ++v)
        out.tensors.emplace_back(name + std::to_string(v), batch->views[v].clone());
      out.tensors.emplace_back(name + "indices", batch->indices.clone());
    }
  }
  write_safetensors(argv[3], out);
  return 0;
}
