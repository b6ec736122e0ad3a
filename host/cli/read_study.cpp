#include "cli/read_study.hpp"

#include "plan/refusals.hpp"
#include "session/preflight.hpp"

#include "gh/error.hpp"

#include <filesystem>

namespace gh::host {
namespace {

// What is thrown on the way is a mistake of one row; the others are looked at, too.
void check_row(const Recipe& recipe, Registry& registry, Diagnostics& out) {
  try {
    check_without_data(recipe, registry, out);
  } catch (const RecipeRefused& refused) {
    for (const Diagnostic& d : refused.diagnostics().all()) out.error(d.source, d.key, d.message);
  } catch (const Error& error) {
    out.error({recipe.file.string(), 0, 0}, "", error.what());
  }
}

}  // namespace

LoadedStudy load_study(const std::string& file, const std::string& scale, Registry& registry,
                       Diagnostics& out) {
  LoadedStudy study{.file = read_study(file, out), .scale = {}, .rows = {}, .seeds = {}};
  if (out.has_errors()) return study;
  if (!scale.empty()) study.scale = find_scale(scale, study.file.scales);
  study.rows =
      expand(study.file, registry, study.scale ? &*study.scale : nullptr, out,
             [&](const Recipe& recipe, Diagnostics& found) { check_row(recipe, registry, found); });
  if (!out.has_errors()) study.seeds = seeds_of(study.file, study.rows);
  return study;
}

}  // namespace gh::host
