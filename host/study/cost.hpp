// What a run takes: by runs of the study that are finished, or measured on this machine.
#pragma once

#include "recipe/recipe.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gh::host {

struct Cost {
  double epoch = 0;        // seconds of one
  double evaluations = 0;  // seconds of a run's; 0 where it was measured
  int64_t memory = 0;      // bytes of the process at its largest; 0: not known
  int64_t disk = 0;        // bytes of its directory
  int64_t runs = 0;        // that it is the mean of; 0: it was measured
};

// What decides how long an epoch takes: backbone, method, data, views, batch, structure and
// allocator. Runs of one class cost the same, whatever their weights and learning rates.
std::string cost_class(const Recipe& recipe);

// Of a run that is finished; nullopt where its files do not say.
std::optional<Cost> cost_of_run(const std::filesystem::path& run);

// Seconds that `epochs` of a run take, with its evaluations when it is trained to the end.
double seconds_of(const Cost& cost, int64_t epochs, bool to_the_end);

// Costs by class. What was measured is kept in DIR/costs.json, so that planning again takes no
// time; what is finished comes before what was measured.
class Costs {
 public:
  explicit Costs(std::filesystem::path file);

  // A run of the class is finished. Up to twenty of each are read.
  void add_finished(const std::string& cost_class, const std::filesystem::path& run);
  void set_measured(const std::string& cost_class, const Cost& cost);
  std::optional<Cost> of(const std::string& cost_class) const;
  void save() const;

 private:
  std::filesystem::path file_;
  std::map<std::string, Cost> measured_;
  std::map<std::string, std::vector<Cost>> finished_;
  bool changed_ = false;
};

}  // namespace gh::host
