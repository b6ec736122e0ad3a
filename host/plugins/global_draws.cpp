#include "plugins/global_draws.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <tuple>

namespace gh::host {
namespace {

// Where LibTorch's generator stands.
using Place = std::tuple<uint64_t, int, uint32_t, uint32_t>;
Place place_now() {
  const auto engine =
      at::check_generator<at::CPUGeneratorImpl>(at::detail::getDefaultCPUGenerator())->engine();
  const at::mt19937_data_pod data = engine.data();
  return {data.seed_, data.left_, data.next_, data.state_[0]};
}

// The callbacks of an operator have no closure: what they see is the thread's.
struct Seen {
  int depth = 0;
  std::vector<std::string> names;
};
thread_local Seen* seen_here = nullptr;

struct Outermost final : at::ObserverContext {
  Place before;
};

std::unique_ptr<at::ObserverContext> begun(const at::RecordFunction&) {
  if (seen_here == nullptr || seen_here->depth++ > 0) return nullptr;
  auto context = std::make_unique<Outermost>();
  context->before = place_now();
  return context;
}

// The outermost operator is the one that somebody wrote: at::randn, not the normal_ within it.
void ended(const at::RecordFunction& function, at::ObserverContext* context) {
  if (seen_here == nullptr) return;
  --seen_here->depth;
  if (context != nullptr && static_cast<Outermost*>(context)->before != place_now())
    seen_here->names.emplace_back(function.name());
}

}  // namespace

struct GlobalDraws::Watch {
  Seen seen;
  Place place = place_now();
  at::CallbackHandle handle{};
  // std::rand() advances a table that may be given to it, and so can be looked at.
  std::array<char, 128> table{}, table_before{};
  char* others_table = nullptr;
};

GlobalDraws::GlobalDraws() : watch_(std::make_unique<Watch>()) {
  watch_->others_table = ::initstate(1, watch_->table.data(), watch_->table.size());
  watch_->table_before = watch_->table;
  seen_here = &watch_->seen;
  watch_->handle = at::addThreadLocalCallback(
      at::RecordFunctionCallback(begun, ended).scopes({at::RecordScope::FUNCTION}));
}

GlobalDraws::~GlobalDraws() {
  at::removeCallback(watch_->handle);
  seen_here = nullptr;
  ::setstate(watch_->others_table);
}

std::vector<std::string> GlobalDraws::since_last() {
  std::vector<std::string> names = std::move(watch_->seen.names);
  watch_->seen.names.clear();
  // Counted on from here, also where a throw kept an operator from ending.
  watch_->seen.depth = 0;
  if (const Place now = place_now(); now != watch_->place) {
    watch_->place = now;
    if (names.empty()) names.emplace_back("something other than an operator (manual_seed?)");
  }
  if (watch_->table != watch_->table_before) {
    watch_->table_before = watch_->table;
    names.emplace_back("std::rand");
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace gh::host
