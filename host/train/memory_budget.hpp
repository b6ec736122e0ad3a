// What a run will certainly need of the machine's memory, compared with what there is before
// training begins. Only what is known is counted; activations are not, so a run that passes may
// still find too little.
#pragma once

#include "recipe/recipe.hpp"

#include "gh/layers.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace gh::host {

// Bytes this process may still take: the least of what the system has (swap included) and of what
// is left under the limits of its control groups. Where nothing can be read, as many as can be
// counted. `root` is where /proc and /sys are looked for.
int64_t available_memory(const std::filesystem::path& root = "/");

// "1.5 GB".
std::string in_gigabytes(double bytes);

// Makes layers by another factory, and refuses the first one with which the weights made so far
// would no longer fit.
class WeighedLayers final : public LayerFactory {
 public:
  WeighedLayers(std::shared_ptr<LayerFactory> layers, int64_t available);

  // Throw gh::Error (out_of_memory).
  std::shared_ptr<Layer> linear(const LinearSpec& spec, Random& random) override;
  std::shared_ptr<Layer> convolution(const ConvolutionSpec& spec, Random& random) override;
  std::shared_ptr<Normalization> normalization(const NormalizationSpec& spec) override;
  void* query(const char* interface_id) override { return layers_->query(interface_id); }

  // What was refused, in a sentence; "" before that.
  const std::string& refusal() const { return refusal_; }

 private:
  void weigh(double weights);

  std::shared_ptr<LayerFactory> layers_;
  double available_;
  double bytes_ = 0;  // of the weights made, in float32
  std::string refusal_;
};

// What a step needs besides the networks, bytes.
struct StepMemory {
  double parameters = 0;  // those that are trained
  int64_t moments = 0;    // that the optimiser keeps of each parameter
  double batches = 0;     // views that the loader holds
};

// Moments of the recipe's optimiser.
int64_t moments_of(const Recipe& recipe);

// Throws RecipeRefused, naming the key to lower, when gradients, moments and batches alone are more
// than `available`.
void require_room(const Recipe& recipe, const StepMemory& step, int64_t available);

}  // namespace gh::host
