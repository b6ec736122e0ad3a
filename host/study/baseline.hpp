// Which row of a study a row is compared with, and whether they differ in more than was meant.
#pragma once

#include "study/expansion.hpp"

#include <string>
#include <vector>

namespace gh::host {

// Sets StudyRow::baseline and, for rows that have one, StudyRow::unintended. A baseline that is
// neither an arm nor a row is an error.
//
// A row is compared with the baseline at the same values of the axes; with the only one where the
// baseline has no axes. A row without axes of its own is compared with the baseline at what its
// recipe has for them; with none where that is not among their values.
void compare_with_baseline(const StudyFile& study, std::vector<StudyRow>& rows, Diagnostics& out);

// Keys that differ, without those that change no number, and without what was named:
//   - by an axis, by an override of either arm, or as `intended`: the key and all below it; the
//     whole table for its `id`, `preset` or `mode`, and for a key that resolving moves elsewhere;
//   - [method] and [harmonize], where either arm has a recipe file of its own;
//   - an [[eval]] that only one of them has, or at other moments.
// Of a table that only one has, or that has another id, that alone is told. So a batch size that
// two recipe files happen to have otherwise is found, although nobody wrote it into the study.
std::vector<std::string> unintended_keys(const StudyFile& study, const StudyRow& baseline,
                                         const StudyRow& row);

}  // namespace gh::host
