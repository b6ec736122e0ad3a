#include "eval/split_store.hpp"

#include "data/targets.hpp"

#include "gh/error.hpp"

#include <ATen/ops/bincount.h>

#include <algorithm>

namespace gh::host {
namespace {

SplitStore::Known describe(const std::string& name, int64_t samples, TargetKind kind,
                           const at::Tensor& targets, const std::vector<std::string>& names) {
  SplitStore::Known out{.facts = {.name = name, .samples = samples, .targets = kind},
                        .class_counts = {}};
  if (kind == TargetKind::classes) {
    const at::Tensor counts = at::bincount(targets, {}, static_cast<int64_t>(names.size()));
    out.class_counts.assign(counts.data_ptr<int64_t>(),
                            counts.data_ptr<int64_t>() + counts.numel());
    out.facts.classes = counts.numel();
  }
  if (kind == TargetKind::multi) out.facts.classes = targets.size(1);
  return out;
}

}  // namespace

SplitStore::SplitStore(const Dataset& dataset, uint64_t seed, const SampleSet& train,
                       bool skip_unreadable, Say say)
    : dataset_(dataset),
      seed_(seed),
      train_(train),
      skip_unreadable_(skip_unreadable),
      say_(std::move(say)) {}

const SampleSet& SplitStore::get(const std::string& name) {
  if (name == "train") return train_;
  const auto found = others_.find(name);
  if (found != others_.end()) return found->second;
  const std::vector<std::string> known = names();
  std::string list;
  for (const std::string& each : known) list += (list.empty() ? "" : ", ") + each;
  require(std::find(known.begin(), known.end(), name) != known.end(), ErrorCode::invalid_param,
          "the data set has no split '", name, "'; it has ", list);
  const std::string split = name == "train:full" ? "train" : name;
  std::unique_ptr<Split> looked_at;
  if (const auto open = opened_.find(name); open != opened_.end())
    looked_at = std::move(opened_.extract(open).mapped());
  SampleSet set = looked_at
                      ? SampleSet::of(std::move(looked_at), split, std::nullopt, skip_unreadable_)
                      : SampleSet::open(dataset_, split, seed_, std::nullopt, skip_unreadable_,
                                        name == "train:full" ? Say() : say_);  // said for "train"
  return others_.emplace(name, std::move(set)).first->second;
}

std::vector<std::string> SplitStore::names() const {
  std::vector<std::string> out = dataset_.splits();
  out.push_back("train:full");
  return out;
}

const Split& SplitStore::opened(const std::string& name) {
  if (const auto found = others_.find(name); found != others_.end()) return found->second.whole();
  std::unique_ptr<Split>& split = opened_[name];
  if (!split) split = open_split(dataset_, name, seed_, skip_unreadable_, say_);
  require(split != nullptr, ErrorCode::internal, "the data set opened nothing for split '", name,
          "'");
  return *split;
}

std::vector<SplitStore::Known> SplitStore::look() {
  std::vector<Known> out;
  for (const std::string& name : names()) {
    if (name == "train") {
      out.push_back(describe(name, train_.size(), train_.target_kind(), train_.targets(),
                             train_.class_names()));
      continue;
    }
    try {
      const Split& split = name == "train:full" ? train_.whole() : opened(name);
      const at::Tensor targets = split.targets();
      const std::vector<std::string> names_of_classes = split.class_names();
      check_targets(name, split, targets, names_of_classes);
      out.push_back(describe(name, split.size(), split.target_kind(), targets, names_of_classes));
    } catch (const DataRefused&) {
      throw;
    } catch (const Error& error) {
      opened_.erase(name);
      if (error.code() != ErrorCode::missing_data && error.code() != ErrorCode::io) throw;
      if (say_) say_(Severity::warning, "split '" + name + "' cannot be opened: " + error.what());
    }
  }
  return out;
}

}  // namespace gh::host
