// Whether the targets of a split are what gh::Split promises: asked once, when a split is opened,
// so that nothing behind it meets labels that are negative, fractions or beyond counting.
#pragma once

#include "gh/dataset.hpp"
#include "gh/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gh::host {

// Data that this recipe cannot use, and the key of the recipe to point at.
class DataRefused final : public Error {
 public:
  DataRefused(std::string key, ErrorCode code, const std::string& message)
      : Error(code, message), key_(std::move(key)) {}
  const std::string& key() const noexcept { return key_; }

 private:
  std::string key_;
};

// Counts, groups and classifiers hold something for every class.
inline constexpr int64_t kMostClasses = int64_t{1} << 20;

// Throws DataRefused (shape, "data.id") naming split, sample and value. `names` may be empty.
void check_targets(std::string_view split, const Split& opened, const at::Tensor& targets,
                   const std::vector<std::string>& names);

}  // namespace gh::host
