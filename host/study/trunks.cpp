#include "study/trunks.hpp"

#include "study/sharing.hpp"

#include <unordered_map>

namespace gh::host {

RowTrunks trunks_of_rows(
    const std::vector<StudyRow>& rows, const std::vector<std::string>& identities,
    const std::function<std::string(std::size_t row, int64_t epochs)>& identity_until) {
  std::unordered_map<std::string, std::size_t> first;  // row of that identity
  std::vector<std::size_t> distinct;
  std::vector<const Recipe*> recipes;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (!first.emplace(identities[row], row).second) continue;
    distinct.push_back(row);
    recipes.push_back(&rows[row].recipe);
  }
  RowTrunks out;
  std::unordered_map<std::size_t, std::size_t> trunk_of;
  for (const Trunk& trunk : shared_trunks(recipes)) {
    const std::size_t row = distinct[trunk.recipe];
    for (const std::size_t member : trunk.members) trunk_of[distinct[member]] = out.trunks.size();
    out.trunks.push_back({row, trunk.until, identity_until(row, trunk.until), trunk.parent});
  }
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const auto at = trunk_of.find(first.at(identities[row]));
    out.of_row.push_back(at == trunk_of.end() ? std::nullopt : std::optional(at->second));
  }
  return out;
}

}  // namespace gh::host
