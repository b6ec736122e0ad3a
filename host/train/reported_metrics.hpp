// Which metrics of an epoch the host itself reports.
#pragma once

#include "plan/plan.hpp"

#include <set>
#include <string>

namespace gh::host {

using MetricNames = std::set<std::string, std::less<>>;

// But for those of allocators, which report under the prefix "allocator_".
MetricNames host_metrics(const TrainPlan& plan);

// Whether the host itself reports checkpoint.metric, or nobody asks for it.
bool reported_by_host(const TrainPlan& plan);

}  // namespace gh::host
