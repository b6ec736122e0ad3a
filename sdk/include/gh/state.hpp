// Named state: everything a component remembers between steps. One function serves saving and
// loading, so that a checkpoint is complete when the function is:
//
//   void visit_state(gh::State& state) override {
//     encoder_->visit_state(state, "encoder");
//     state.tensor("queue", queue_);
//     state.integer("pointer", pointer_);
//   }
//
// The host refuses to train a parameter that is not visited.
#pragma once

#include "gh/export.hpp"
#include "gh/tensor.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace gh {
inline namespace v1 {

// Names are unique within a component: [a-z0-9_] separated by dots. Training thread.
class GH_API State {
 public:
  virtual ~State();
  virtual bool loading() const = 0;
  // Saving: `value` is read. Loading: a defined tensor of equal shape and dtype is overwritten in
  // place (an optimiser or a module may hold it); otherwise `value` is replaced. An undefined
  // tensor is saved as absent and loads as undefined.
  virtual void tensor(std::string_view name, at::Tensor& value) = 0;
  virtual void integer(std::string_view name, int64_t& value) = 0;
  virtual void real(std::string_view name, double& value) = 0;
  virtual void text(std::string_view name, std::string& value) = 0;
};

}  // namespace v1
}  // namespace gh
