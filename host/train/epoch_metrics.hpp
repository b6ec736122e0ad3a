// Averages what is logged during an epoch.
#pragma once

#include "ranks/ranks.hpp"

#include "gh/state.hpp"
#include "gh/tensor.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
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
  // Means over all ranks from here on. Every rank has logged the same names.
  void reduce(Ranks& ranks);
  // For a checkpoint inside an epoch: the sums of every rank, of which each gets its own back. A
  // collective.
  void visit_state(State& state, Ranks& ranks);

 private:
  struct Sum {
    std::string name;
    double total = 0;
    at::Tensor deferred;
    int64_t count = 0;
    double mean() const;
  };
  Sum& entry(std::string_view name);
  at::Tensor own_sums() const;
  std::vector<Sum> entries_;
};

}  // namespace gh::host
