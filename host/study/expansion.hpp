// From a study file to the rows of its table: arms × points of the axes, each with its resolved
// recipe, its label and the row that it is compared with. Seeds come after that: every row has all.
#pragma once

#include "recipe/recipe.hpp"
#include "study/scale.hpp"
#include "study/study_file.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace gh::host {

struct StudyRow {
  std::string label;    // no two rows have the same: "+GH, weight = 0.5"
  std::size_t arm = 0;  // in StudyFile::arms
  // Axis without "+" → value as TOML, in the order of the file; empty for an arm without axes.
  std::vector<std::pair<std::string, std::string>> axes;
  std::string baseline;  // label of the row it is compared with; its own, or empty: there is none
  // Keys in which it differs from that row though nobody named them (study/baseline.hpp).
  std::vector<std::string> unintended;
  std::string scaled;  // what the scale changed, a line each
  // Under the first seed. Knows no positions: there may be thousands.
  Recipe recipe;
};

// What else is to be asked of a recipe while its positions are known.
using AlsoCheck = std::function<void(const Recipe&, Diagnostics&)>;

// In the order of the file, the last axis fastest. `scale` may be null. Mistakes go to `out`, each
// once, with the first row that has it; where there are errors the result is unusable.
std::vector<StudyRow> expand(const StudyFile& study, Catalog& catalog, const Scale* scale,
                             Diagnostics& out, const AlsoCheck& also = {});

// The seeds of every row.
std::vector<int64_t> seeds_of(const StudyFile& study, const std::vector<StudyRow>& rows);

// A row's recipe under another seed.
Recipe with_seed(Recipe recipe, int64_t seed);

}  // namespace gh::host
