// Studies as commands get at them: read, scaled, every row resolved.
#pragma once

#include "plugins/registry.hpp"
#include "study/expansion.hpp"
#include "study/study_file.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gh::host {

struct LoadedStudy {
  StudyFile file;
  std::optional<Scale> scale;
  std::vector<StudyRow> rows;
  std::vector<int64_t> seeds;
};

// Every row is also asked what can be asked without data. `scale` as for recipes, and names of the
// study's own; empty: none. Where `out` has errors, the result is unusable.
LoadedStudy load_study(const std::string& file, const std::string& scale, Registry& registry,
                       Diagnostics& out);

}  // namespace gh::host
