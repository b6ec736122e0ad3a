// The components a recipe names, made and checked, in the order of their dependence. Destroyed in
// reverse.
#pragma once

#include "plugins/component_call.hpp"
#include "plugins/component_trials.hpp"
#include "plugins/registry.hpp"
#include "recipe/recipe.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gh::host {

// A component with the parameters it reads.
template <class Interface>
struct Made {
  std::unique_ptr<Params> params;
  ComponentPtr<Interface> component;
  Slot slot;               // in the recipe
  std::string name;        // "ssl/simclr"
  uint32_t flags = 0;      // of gh_component_v1
  uint32_t sdk_minor = 0;  // that it was built for
  bool sees_labels = false;
  Make<Interface> another;  // one more of it, with the same parameters

  // Calls a member function; what it throws is told with component and phase.
  template <class Function, class... Arguments>
  decltype(auto) call(std::string_view phase, Function function, Arguments&&... arguments) const {
    return call_component(name, phase, [&]() -> decltype(auto) {
      return std::invoke(function, *component, std::forward<Arguments>(arguments)...);
    });
  }
  Interface& operator*() const { return *component; }
  explicit operator bool() const { return component != nullptr; }
};

struct Components {
  Made<Dataset> dataset;
  Made<Backbone> backbone;
  Made<SslMethod> method;
  Made<Structure> structure;  // empty without [harmonize]
  Made<Allocator> allocator;
  std::vector<Made<Evaluator>> evaluators;
};

enum class Making { everything, without_data };
Components make_components(const Recipe& recipe, Registry& registry,
                           Making making = Making::everything);
Made<Dataset> make_dataset(const Recipe& recipe, Registry& registry);

}  // namespace gh::host
