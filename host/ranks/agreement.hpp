// Whether the processes of a run have the same of what must be the same on all of them.
#pragma once

#include "ranks/ranks.hpp"

#include <map>
#include <string>
#include <vector>

namespace gh::host {

// What a rank has, by name. A name that only some have counts as a difference.
using Facts = std::map<std::string, std::string>;

struct Disagreement {
  std::string name;
  std::string first, other;  // what rank 0 and `rank` have; empty: nothing of that name
  int64_t rank = 0;          // the lowest whose fact is another than that of rank 0
};

// Each name at most once, in the order of names; the same on every rank. One short message where
// all agree. A collective.
std::vector<Disagreement> disagreements(Ranks& ranks, const Facts& facts);

// "  name: first on rank 0, other on rank 1", a line each.
std::string to_text(const std::vector<Disagreement>& disagreements);

}  // namespace gh::host
