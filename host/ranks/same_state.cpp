#include "ranks/same_state.hpp"

#include "ranks/agreement.hpp"

#include "gh/error.hpp"

#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <sstream>

namespace gh::host {
namespace {

// Lanes that do not wait for each other. A step is one-to-one in the lane and in the word, so that
// words that differ in one place never end alike.
constexpr size_t kLanes = 8;
constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;

uint64_t step(uint64_t lane, uint64_t word) { return std::rotl((lane ^ word) * kOdd, 29); }

std::string hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

std::string description(const at::Tensor& tensor) {
  std::ostringstream text;
  text << c10::toString(tensor.scalar_type()) << ' ' << tensor.sizes();
  return text.str();
}

}  // namespace

uint64_t fast_digest(std::span<const uint8_t> bytes) {
  std::array<uint64_t, kLanes> lanes{}, words{};
  for (size_t i = 0; i < kLanes; ++i) lanes[i] = i + 1;
  const uint64_t size = bytes.size();
  for (; bytes.size() >= sizeof words; bytes = bytes.subspan(sizeof words)) {
    std::memcpy(words.data(), bytes.data(), sizeof words);
    for (size_t i = 0; i < kLanes; ++i) lanes[i] = step(lanes[i], words[i]);
  }
  words = {};
  if (!bytes.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  uint64_t all = size;
  for (size_t i = 0; i < kLanes; ++i) all = step(all, step(lanes[i], words[i]));
  return all ^ (all >> 32);
}

uint64_t fast_digest(const at::Tensor& tensor) {
  const at::Tensor here = tensor.detach().cpu().contiguous();
  const std::string kind = description(here);
  const auto* text = reinterpret_cast<const uint8_t*>(kind.data());
  const auto* bytes = static_cast<const uint8_t*>(here.const_data_ptr());
  return step(fast_digest({text, kind.size()}), fast_digest({bytes, here.nbytes()}));
}

void require_same_state(Ranks& ranks,
                        const std::vector<std::pair<std::string, at::Tensor>>& tensors,
                        const std::map<std::string, std::string>& texts,
                        const std::function<bool(const std::string& name)>& differs) {
  if (ranks.world() == 1) return;
  Facts facts;
  for (const auto& [name, tensor] : tensors)
    if (!differs(name)) facts[name] = description(tensor) + ' ' + hex(fast_digest(tensor));
  for (const auto& [name, text] : texts)
    if (!differs(name))
      facts[name] = hex(fast_digest({reinterpret_cast<const uint8_t*>(text.data()), text.size()}));
  const std::vector<Disagreement> found = disagreements(ranks, facts);
  if (found.empty()) return;
  ranks.barrier();  // nobody leaves while another still reads
  const size_t more = found.size() - 1;
  fail(ErrorCode::numeric, "the state of rank ", found.front().rank,
       " is not that of rank 0: ", found.front().name, " differs",
       more > 0 ? " and " + std::to_string(more) + (more > 1 ? " others" : " other") : "",
       ". All ranks must compute the same, for the first one's state is what a checkpoint keeps; "
       "nothing was saved. Whoever owns it has to gather what it computes from its own samples "
       "(Host::all_gather), draw from Host::random and normalise with layers of Host::layers; or "
       "the machines compute differently");
}

}  // namespace gh::host
