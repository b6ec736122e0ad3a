// What runs train alike, so that it need be trained once: a run that others begin with (a trunk)
// stops where they part (`ghhost run --until`), and they go on from there (`--fork`), with the same
// bytes as if each had been trained by itself.
//
// Of every key that changes a number it is known from which epoch on: most from the start, those of
// GH's loss from the end of the warm-up, a schedule from its first change, an evaluation from its
// moment. Where that cannot be told from the recipe alone, as for parameters of methods and for
// train.epochs, which a method may look at in its first step, it is from the start. Plugins cannot
// say of their own parameters that they act late.
#pragma once

#include "recipe/difference.hpp"
#include "recipe/recipe.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gh::host {

// How far two recipes without errors go together.
struct Parting {
  int64_t epochs = 0;           // over all stages; what belongs to the end of the last may differ
  std::vector<Difference> why;  // what of both acts from there on; empty: nothing until the end
};
Parting parting_of(const Recipe& a, const Recipe& b);

// Its epochs: 0 where they have nothing in common, at most train.epochs. The least of any two of
// three recipes is that of two pairs of them, so that runs make a tree.
int64_t alike_until(const Recipe& a, const Recipe& b);

// What acts in the first `epochs` of a recipe, as text: the same for two recipes exactly where they
// are alike_until() then or longer.
std::string beginning_of(const Recipe& recipe, int64_t epochs);

// What several runs begin with.
struct Trunk {
  int64_t until = 0;                 // epochs, above 0 and above those of the parent
  std::size_t recipe = 0;            // whose recipe trains it: the first run above it
  std::vector<std::size_t> members;  // runs that begin with it, but for those of nested trunks
  std::optional<std::size_t> parent = {};  // trunk that this one begins with, earlier in the list
};

// By index into `runs`. A run is a member of one trunk at most, of the longest; a trunk has two or
// more members and nested trunks. The time is that of sorting.
std::vector<Trunk> shared_trunks(std::span<const Recipe* const> runs);

// Epochs that are not trained again.
int64_t epochs_saved(std::span<const Trunk> trunks);

}  // namespace gh::host
