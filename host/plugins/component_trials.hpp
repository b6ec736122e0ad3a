// What a component does that it need not declare, found out by trying one of its own under a fake
// host: no data, nothing of the run is touched. For questions that a run must not answer only after
// hours of training.
#pragma once

#include "plugins/registry.hpp"

#include "gh/allocator.hpp"
#include "gh/ssl.hpp"

#include <functional>
#include <optional>
#include <set>
#include <string>

namespace gh::host {

template <class Interface>
using Make = std::function<ComponentPtr<Interface>()>;

struct MethodHabits {
  bool projects = false;                      // step() asks for Step::project(), in every stage
  std::set<std::string, std::less<>> logged;  // names given to Host::log()
};
// A step of each stage, with the views and flags of the run's facts. Nothing where the method does
// not get through it: then nothing is known.
std::optional<MethodHabits> observe_method(const Make<SslMethod>& make, const RunFacts& run,
                                           uint32_t flags);

// Whether gradients flow from targets to logits; nothing where that cannot be told.
std::optional<bool> gives_gradients(const Make<Allocator>& make, const AllocatorFacts& facts,
                                    uint32_t flags);

}  // namespace gh::host
