// A recipe that is valid as text but cannot be run, and why.
#pragma once

#include "recipe/diagnostics.hpp"
#include "recipe/recipe.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace gh::host {

// Thrown by those who know the plan alone: the key that asks for what cannot be.
class PlanRefused final : public std::runtime_error {
 public:
  PlanRefused(std::string key, const std::string& message)
      : std::runtime_error(message), key_(std::move(key)) {}
  const std::string& key() const noexcept { return key_; }

 private:
  std::string key_;
};

// With the place in the recipe.
class RecipeRefused final : public std::runtime_error {
 public:
  explicit RecipeRefused(Diagnostics diagnostics);
  RecipeRefused(const Recipe& recipe, const std::string& key, std::string message);
  const Diagnostics& diagnostics() const { return diagnostics_; }

 private:
  Diagnostics diagnostics_;
};

// Does `work`; what it refuses by a key gets its place.
template <class Work>
decltype(auto) placed_in(const Recipe& recipe, Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (const PlanRefused& refused) {
    throw RecipeRefused(recipe, refused.key(), refused.what());
  }
}

// An error at `key`, where the recipe has it, or at its file.
void add_error(const Recipe& recipe, const std::string& key, std::string message, Diagnostics& out);

}  // namespace gh::host
