// Trunks of a study (study/sharing.hpp) by row, whatever the seed: rows part where they do under
// any. A trunk is known by what it trains, not by the rows that begin with it, so that arms which
// are added later find it.
#pragma once

#include "study/expansion.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gh::host {

struct RowTrunk {
  std::size_t row = 0;  // whose recipe trains it
  int64_t until = 0;
  std::string identity;               // for run_id()
  std::optional<std::size_t> parent;  // earlier in the list
};

struct RowTrunks {
  std::vector<RowTrunk> trunks;
  std::vector<std::optional<std::size_t>> of_row;  // what each row begins with
};

// `identities` of rows: rows of the same are one run. `identity_until` is that of a row's first
// epochs.
RowTrunks trunks_of_rows(
    const std::vector<StudyRow>& rows, const std::vector<std::string>& identities,
    const std::function<std::string(std::size_t row, int64_t epochs)>& identity_until);

}  // namespace gh::host
