// Averages what is logged during an epoch.
#pragma once

#include "gh/tensor.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace gh::host {

class EpochMetrics {
 public:
  void add(std::string_view name, double value);
  void add(std::string_view name, const at::Tensor& scalar);  // read when the epoch ends
  double mean(std::string_view name) const;                   // NaN when never logged
  // Name → mean, in order of first appearance; non-finite values become null.
  void write(nlohmann::ordered_json& out) const;
  void clear() { entries_.clear(); }

 private:
  struct Sum {
    std::string name;
    double total = 0;
    at::Tensor deferred;
    int64_t count = 0;
    double mean() const;
  };
  Sum& entry(std::string_view name);
  std::vector<Sum> entries_;
};

// null for NaN and infinities.
nlohmann::ordered_json json_number(double value);

}  // namespace gh::host
