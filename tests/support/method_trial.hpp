// gh::testing::MethodTrial over a bundled method, and numbers of vectors with two precisions.
#pragma once

#include "support/plugin_fixture.hpp"
#include "support/vectors.hpp"

#include "gh/testing/compare.hpp"
#include "gh/testing/method_trial.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace gh::test {

using testing::leaf;
using testing::LinearEncoder;
using testing::NamedState;
using testing::slope_error;
using testing::StandInEncoder;
using testing::StandInLayers;
using testing::state_difference;
using testing::TrialHost;

struct MethodTrial : testing::MethodTrial {
  template <class... Facts>
  MethodTrial(const std::string& id, const std::string& toml, const Facts&... facts)
      : testing::MethodTrial(load<SslMethod>(id, toml), facts...) {}
  MethodTrial(const std::string& id, const std::string& toml, const std::vector<at::Tensor>& views,
              uint64_t seed = 0)
      : testing::MethodTrial(load<SslMethod>(id, toml), views, seed) {}

  MethodTrial& build() {
    testing::MethodTrial::build();
    return *this;
  }
};

// For comparisons with vectors: that of the file's README in single precision.
inline double tolerance(at::ScalarType dtype, double single) {
  return dtype == at::kDouble ? 1e-9 : single;
}

// Largest deviation from what the file has for this precision, relative where it is above 1.
inline double deviation(const host::TensorFile& file, const std::string& name,
                        const at::Tensor& found) {
  const bool exact = found.scalar_type() == at::kDouble;
  const at::Tensor expected = file.at(exact ? name + "_f64" : name).to(at::kDouble);
  return ((found.detach().to(at::kDouble) - expected).abs() / expected.abs().clamp_min(1))
      .max()
      .item<double>();
}
inline double deviation(const host::TensorFile& file, const std::string& name, double found,
                        at::ScalarType dtype) {
  const double expected =
      file.at(dtype == at::kDouble ? name + "_f64" : name).to(at::kDouble).item<double>();
  return std::abs(found - expected) / std::max(1.0, std::abs(expected));
}

}  // namespace gh::test
