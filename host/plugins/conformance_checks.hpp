// The checks behind check_conformance(), one per kind. Each makes its component as often as it
// likes; what a component throws ends the check of that component and is itself a finding.
#pragma once

#include "plugins/component_trials.hpp"
#include "plugins/conformance.hpp"

#include "gh/component.hpp"

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gh::host {

// Collects what was found, under the component and part it was found in.
class Findings {
 public:
  explicit Findings(const ConformanceOptions& options) : options_(options) {}
  void begin(std::string component);
  void part(std::string part);
  void violation(std::string_view text);
  void remark(std::string_view text);
  bool expect(bool condition, std::string_view otherwise);  // returns `condition`
  const std::vector<std::string>& violations() const { return violations_; }

 private:
  std::string prefix() const;
  const ConformanceOptions& options_;
  std::string component_;
  std::string part_;
  std::set<std::string> seen_;  // the same complaint about every row or width is said once
  std::vector<std::string> violations_;
};

// Remembers complaints of check() and validate().
class ComplaintList : public Complaints {
 public:
  void add(std::string_view key, std::string_view message) override;
  bool empty() const { return text_.empty(); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void check_structure(const Make<Structure>& make, Findings& out);
void check_allocator(const Make<Allocator>& make, uint32_t flags, Findings& out);
void check_backbone(const Make<Backbone>& make, Findings& out);
void check_dataset(const Make<Dataset>& make, Findings& out);
void check_ssl(const Make<SslMethod>& make, uint32_t flags, Findings& out);
void check_evaluator(const Make<Evaluator>& make, Findings& out);

// "float32 [4, 3]", "undefined".
std::string describe(const at::Tensor& tensor);
bool all_finite(const at::Tensor& tensor);
// Same dtype, shape and bytes; undefined equals undefined.
bool identical(const at::Tensor& a, const at::Tensor& b);

}  // namespace gh::host
