// Which classes and which of their samples a map shows.
#pragma once

#include "gh/class_groups.hpp"
#include "gh/random.hpp"

#include <cstdint>
#include <vector>

namespace tsne {

// `count` of the given classes that have samples, drawn at random, largest first; all where there
// are fewer.
std::vector<int64_t> draw_classes(const std::vector<int64_t>& from,
                                  const std::vector<int64_t>& samples, int64_t count,
                                  gh::Random random);

// How many of each class to show so that there are at most `total`: the largest classes are cut to
// one level, the smaller ones stay whole.
std::vector<int64_t> share_out(const std::vector<int64_t>& sizes, int64_t total);

}  // namespace tsne
