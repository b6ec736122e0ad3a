// The splits of a run's data set, as evaluators name them.
#pragma once

#include "data/sample_set.hpp"

#include "gh/evaluator.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gh::host {

// "train" is the thinned training set, "train:full" the same before
// thinning; others are read when first asked for.
class SplitStore {
 public:
  SplitStore(const Dataset& dataset, uint64_t seed, const SampleSet& train,
             bool skip_unreadable = false, Say say = {});
  // Throws gh::Error (invalid_param) naming the splits there are.
  const SampleSet& get(const std::string& name);
  std::vector<std::string> names() const;

  struct Known {
    SplitFacts facts;
    std::vector<int64_t> class_counts;  // empty unless targets are classes
  };
  // Without reading a sample. What cannot be opened for lack of data or by a fault of them is left
  // out, with a warning; throws DataRefused where targets are wrong.
  std::vector<Known> look();

 private:
  const Split& opened(const std::string& name);

  const Dataset& dataset_;
  uint64_t seed_;
  const SampleSet& train_;
  bool skip_unreadable_;
  Say say_;
  std::map<std::string, std::unique_ptr<Split>> opened_;  // of which nothing was read
  std::map<std::string, SampleSet> others_;
};

}  // namespace gh::host
