#include "train/stages.hpp"

#include "gh/error.hpp"

#include <string_view>

namespace gh::host {
namespace {

// As many as train.epochs may be: steps of all of them can be counted.
constexpr int64_t kMostEpochs = 1'000'000;

class StageList final : public Stages {
 public:
  void add(std::string_view name, int64_t epochs) override {
    require(epochs >= 0 && epochs <= kMostEpochs, ErrorCode::invalid_param, "stage '", name,
            "' has ", epochs, " epochs; expected 0 … ", kMostEpochs);
    const int64_t first = stages.empty() ? 0 : stages.back().first + stages.back().epochs;
    stages.push_back({std::string(name), epochs, first});
  }
  std::vector<Stage> stages;
};

}  // namespace

std::vector<Stage> plan_stages(const Made<SslMethod>& method, const RunFacts& facts) {
  StageList list;
  method.call("plan_stages", &SslMethod::plan_stages, facts, list);
  if (list.stages.empty()) list.add("train", facts.epochs);
  return std::move(list.stages);
}

}  // namespace gh::host
