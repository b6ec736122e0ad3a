// The checks behind check_conformance(), one per kind. Each makes its component as often as it
// likes; what a component throws ends the check of that component and is itself a finding.
#pragma once

#include "plugins/component_trials.hpp"
#include "plugins/conformance.hpp"
#include "plugins/global_draws.hpp"
#include "plugins/process_watch.hpp"

#include "gh/component.hpp"
#include "gh/testing/compare.hpp"
#include "gh/testing/fake_host.hpp"

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gh::host {

using testing::all_finite;
using testing::describe;
using testing::fault_of_name;
using testing::identical;
using testing::StateMap;

// Collects what was found, under the component and part it was found in. The same complaint about
// another row, width, step or stage is said once.
class Findings {
 public:
  explicit Findings(const ConformanceOptions& options) : options_(options) {}
  void begin(std::string component, const Schema& schema);
  void part(std::string part);
  // `likely`: what the author did, where that can be told.
  void violation(std::string_view text, std::string_view likely = {});
  void remark(std::string_view text);
  void tried(std::string_view what);
  bool expect(bool condition, std::string_view otherwise, std::string_view likely = {});
  // Does `work` in a part of its own; what it throws is a violation there. True where it found
  // nothing new.
  bool attempt(std::string part, const std::function<void()>& work, std::string_view likely = {});
  // From here on the component has another parameter, "projector = none".
  void vary(std::string how);
  bool varied() const { return !varied_.empty(); }
  // Closes a component: the list of what was tried.
  void end();

  const std::vector<std::string>& violations() const { return violations_; }
  const Schema& schema() const { return *schema_; }
  const Recipe* recipe() const { return options_.recipe; }

 private:
  std::string prefix() const;
  void look_at_draws();
  void look_at_modes();
  const ConformanceOptions& options_;
  std::optional<GlobalDraws> draws_;     // from the first component on
  std::optional<ProcessWatch> process_;  // of each component
  const Schema* schema_ = nullptr;
  std::string component_, varied_, part_, tried_;
  std::set<std::string> seen_;
  std::vector<std::string> violations_;
};

// Remembers complaints of check() and validate(), and looks at the keys that they name.
class ComplaintList : public Complaints {
 public:
  explicit ComplaintList(Findings& out) : out_(out) {}
  void add(std::string_view key, std::string_view message) override;
  bool empty() const { return text_.empty(); }
  const std::string& text() const { return text_; }

 private:
  Findings& out_;
  std::string text_;
};

// What is in flight, in words: "numeric: no convergence", "c10::Error: …".
std::string thrown_now();

void check_structure(const Make<Structure>& make, Findings& out);
void check_allocator(const Make<Allocator>& make, uint32_t flags, Findings& out);
void check_backbone(const Make<Backbone>& make, Findings& out);
void check_dataset(const Make<Dataset>& make, Findings& out);
void check_ssl(const Make<SslMethod>& make, uint32_t flags, Findings& out);
void check_evaluator(const Make<Evaluator>& make, Findings& out);

}  // namespace gh::host
