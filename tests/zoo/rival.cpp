// Built twice, with another RIVAL: two plugins whose insides have the same names, with linkage as
// careless as it gets, and mean other things. Its allocator multiplies by RIVAL; so does its
// gradient, by code of the plugin.
#include "gh/component.hpp"

#include <torch/csrc/autograd/custom_function.h>

namespace internals {

inline int64_t calls = 0;

struct Factor {
  virtual ~Factor() = default;
  virtual double value() const { return RIVAL; }
};

template <class T>
T& shared() {
  static T one;
  return one;
}

struct Scale : torch::autograd::Function<Scale> {
  static at::Tensor forward(torch::autograd::AutogradContext*, const at::Tensor& x) {
    return x * shared<Factor>().value();
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext*,
                                               const torch::autograd::tensor_list& gradients) {
    return {gradients[0] * shared<Factor>().value()};
  }
};

}  // namespace internals

class Rival : public gh::Allocator {
 public:
  explicit Rival(const gh::Params&) {}
  at::Tensor assign(const gh::AssignRequest& request, gh::AssignReport& report) override {
    report.scalar("calls", static_cast<double>(++internals::calls));
    return internals::Scale::apply(request.logits);
  }
};

constexpr gh::Component kComponents[] = {gh::describe<Rival>(RIVAL_ID, "multiplies by a number")};

GH_PLUGIN(kComponents, .license = "MIT", .doc = "Has the same insides as another")
