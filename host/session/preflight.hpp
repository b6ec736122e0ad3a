// What a recipe asks for that cannot be, found out before anything is trained.
#pragma once

#include "plan/components.hpp"
#include "plan/plan.hpp"

#include "gh/host.hpp"

namespace gh::host {

// By what components say of themselves alone; no data set is made or opened. Throws gh::Error when
// a component cannot be made of its parameters.
void check_without_data(const Recipe& recipe, Registry& registry, Diagnostics& out);

// harmonize.apply = "projector" needs a method that projects, checkpoint.metric somebody who
// reports it. Where the method does not say, another one of it is tried.
void check_method(const Recipe& recipe, const TrainPlan& plan, const Made<SslMethod>& method,
                  const RunFacts& facts, Diagnostics& out);

// harmonize.targets = "joint" needs an allocator with gradient; check() of the allocator included.
void check_allocator(const Recipe& recipe, const Made<Allocator>& allocator,
                     const AllocatorFacts& facts, Diagnostics& out);

}  // namespace gh::host
