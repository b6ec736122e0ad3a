// A study as its author writes it: a base recipe, axes whose product is run, named arms, seeds.
// Read as strictly as a recipe; nothing is resolved here (study/expansion.hpp).
//
//   name = "figure 5: w"              # of the file, if left out
//   seeds = [0, 1, 2]                 # that of the recipe, if left out
//   baseline = "SimCLR"               # label of an arm, or of one row
//   metrics = ["linear_probe"]
//   [base]
//   recipe = "../cifar100-lt/simclr-gh.toml"
//   overrides = ["train.batch=256"]   # as on the command line
//   [axes]
//   "harmonize.weight" = [0.5, 1.0]
//   [[arm]]
//   label = "SimCLR"
//   recipe = "../cifar100-lt/simclr.toml"
//   axes = false                      # once, not at each point of the axes
//   [scale.small]
//   epochs = 0.02
#pragma once

#include "recipe/recipe.hpp"
#include "study/scale.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gh::host {

// A recipe file, and where the study names it.
struct NamedRecipe {
  std::filesystem::path file;  // absolute; empty: not named
  Source at;
};

struct StudyArm {
  std::string label;  // empty for the one arm of a study without [[arm]]
  Source at;
  NamedRecipe recipe;  // in place of the base's
  std::vector<WrittenOverride> overrides;
  // Keys and tables that its recipe changes on purpose, though no override says so.
  std::vector<std::string> intended;
  bool axes = true;  // false: it is run once
};

struct StudyAxis {
  std::string key;  // may begin with "+"
  Source at;
  std::vector<Value> values;
};

struct StudyFile {
  std::filesystem::path file;
  std::string name;
  std::vector<int64_t> seeds;  // empty: that of the recipe
  std::string baseline;        // empty: none
  Source baseline_at;
  std::vector<std::string> metrics;
  std::string layout = "rows";
  std::vector<std::string> blocks;
  int64_t retries = 2;
  NamedRecipe base;
  std::vector<WrittenOverride> overrides;  // of every arm
  std::vector<std::string> intended;       // of every arm
  std::vector<StudyAxis> axes;
  std::vector<StudyArm> arms;  // at least one
  std::vector<Scale> scales;
};

// Whether a file is meant to be a study, by its tables; false where it is no TOML.
bool is_study_file(const std::filesystem::path& file);

// Mistakes go to `out`, all of them; where there are errors the result is unusable.
StudyFile read_study(const std::filesystem::path& file, Diagnostics& out);

}  // namespace gh::host
