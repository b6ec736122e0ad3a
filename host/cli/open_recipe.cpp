#include "cli/open_recipe.hpp"

#include "cli/read_recipe.hpp"
#include "plan/open_data.hpp"

namespace gh::host {

SampleSet OpenRecipe::split(const std::string& name, bool skip_unreadable, Notes& notes) const {
  return open_samples(recipe, plan, dataset, name, skip_unreadable,
                      [&](Severity, std::string_view text) { notes.emplace_back(text); });
}

void declare_recipe(Options& options, std::string& recipe, std::vector<std::string>& overrides) {
  options.required("RECIPE", recipe, "Recipe file");
  options.rest("OVERRIDE", overrides, "Changes, as for `ghhost run`");
}

std::optional<OpenRecipe> open_recipe(const std::string& file,
                                      const std::vector<std::string>& overrides,
                                      Registry& registry) {
  std::optional<Recipe> recipe = read_recipe(file, overrides, registry);
  if (!recipe) return std::nullopt;
  TrainPlan plan = read_plan(*recipe);
  Made<Dataset> dataset = make_dataset(*recipe, registry);
  return OpenRecipe{std::move(*recipe), std::move(plan), std::move(dataset)};
}

}  // namespace gh::host
