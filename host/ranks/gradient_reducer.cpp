#include "ranks/gradient_reducer.hpp"

#include "gh/error.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

namespace gh::host {
namespace {

// The first bucket is small, so that something is on its way early; the last, so that little is
// left to wait for.
constexpr int64_t kSmallBucketBytes = 1 << 20;
constexpr int64_t kAlignment = 16;  // elements; keeps each gradient on a cache line of its own
// How many steps a parameter must have had fewer gradients before a bucket leaves earlier.
constexpr int64_t kPatience = 16;

struct Member {
  size_t parameter = 0;
  int64_t offset = 0;  // in elements
  at::Tensor view;     // of the bucket's memory, laid out like the parameter
};

struct Bucket {
  std::vector<Member> members;
  int64_t elements = 0;
  at::Tensor flat;      // [elements + vote_elements()]
  int64_t missing = 0;  // members that have not had all their gradients
  bool launched = false;
  bool stale = false;          // more was accumulated afterwards
  std::function<void()> wait;  // empty: nothing is on its way
};

// Votes travel as the bytes of doubles, each byte a number that every dtype holds exactly, each
// rank in a place of its own: their sum over ranks is all ranks' votes.
int64_t vote_elements(const Ranks& ranks, size_t votes) {
  return ranks.world() * static_cast<int64_t>(votes * sizeof(double));
}

at::Tensor pack_votes(const Ranks& ranks, std::span<const double> votes) {
  at::Tensor bytes =
      at::zeros({ranks.world(), vote_elements(ranks, votes.size()) / ranks.world()}, at::kByte);
  std::memcpy(bytes[ranks.rank()].mutable_data_ptr(), votes.data(), votes.size_bytes());
  return bytes.flatten();
}

void unpack_votes(const Ranks& ranks, const at::Tensor& packed, std::span<double> votes) {
  const at::Tensor bytes = packed.to(at::kCPU).to(at::kByte);
  std::vector<double> all(votes.size() * static_cast<size_t>(ranks.world()));
  std::memcpy(all.data(), bytes.const_data_ptr(), bytes.nbytes());
  for (size_t i = 0; i < votes.size(); ++i) {
    votes[i] = 0;
    for (size_t at = i; at < all.size(); at += votes.size()) votes[i] += all[at];
  }
}

// Layout: indices of parameters, bucket by bucket, in the order in which they become complete.
std::vector<std::vector<size_t>> plan_buckets(const std::vector<at::Tensor>& parameters,
                                              int64_t bucket_bytes) {
  struct Open {
    std::vector<size_t> members;
    int64_t bytes = 0, limit = 0;
  };
  const auto bytes_of = [&](size_t i) { return static_cast<int64_t>(parameters[i].nbytes()); };
  const int64_t small = std::min(kSmallBucketBytes, bucket_bytes);
  std::map<std::pair<c10::DeviceType, at::ScalarType>, Open> open;
  std::vector<std::vector<size_t>> buckets;
  for (size_t i = parameters.size(); i-- > 0;) {
    auto [at, fresh] =
        open.try_emplace({parameters[i].device().type(), parameters[i].scalar_type()});
    Open& bucket = at->second;
    if (fresh) bucket.limit = small;
    if (!bucket.members.empty() && bucket.bytes + bytes_of(i) > bucket.limit) {
      buckets.push_back(std::move(bucket.members));
      bucket = {{}, 0, bucket_bytes};
    }
    bucket.members.push_back(i);
    bucket.bytes += bytes_of(i);
  }
  for (auto& [kind, bucket] : open) {
    size_t keep = bucket.members.size();
    for (int64_t tail = 0; keep > 0; --keep) {
      tail += bytes_of(bucket.members[keep - 1]);
      if (tail > small) break;
    }
    const auto cut = bucket.members.begin() + static_cast<int64_t>(keep);
    if (keep > 0) buckets.emplace_back(bucket.members.begin(), cut);
    if (cut != bucket.members.end()) buckets.emplace_back(cut, bucket.members.end());
  }
  std::stable_sort(buckets.begin(), buckets.end(),
                   [](const auto& a, const auto& b) { return a.back() > b.back(); });
  return buckets;
}

}  // namespace

struct GradientReducer::Impl {
  // Called by autograd after each accumulation.
  struct Arrival final : torch::autograd::PostAccumulateGradHook {
    Arrival(Impl& reducer, size_t parameter) : reducer(reducer), parameter(parameter) {}
    void operator()(const at::Tensor&) override { reducer.arrived(parameter); }
    Impl& reducer;
    size_t parameter;
  };
  struct Count {
    int64_t now = 0;       // accumulations in this step
    int64_t expected = 0;  // per step
    int64_t most = 0;      // in any step since `expected` was looked at
    size_t bucket = 0;
  };

  Ranks& ranks;
  std::vector<at::Tensor> parameters;
  std::vector<Bucket> buckets;
  std::vector<Count> counts;  // of each parameter
  size_t next = 0;            // bucket to launch
  int64_t steps = 0;          // finished

  Impl(Ranks& ranks, std::vector<at::Tensor> given, int64_t bucket_bytes)
      : ranks(ranks), parameters(std::move(given)), counts(parameters.size()) {
    for (const auto& indices : plan_buckets(parameters, bucket_bytes)) {
      Bucket& bucket = buckets.emplace_back();
      for (const size_t i : indices) {
        bucket.members.push_back({.parameter = i, .offset = bucket.elements, .view = {}});
        bucket.elements += (parameters[i].numel() + kAlignment - 1) / kAlignment * kAlignment;
        counts[i].bucket = buckets.size() - 1;
      }
    }
    for (size_t i = 0; i < parameters.size(); ++i) {
      require(torch::autograd::impl::post_acc_grad_hooks(parameters[i]) == nullptr,
              ErrorCode::internal, "parameter ", i, " of a gradient reducer already has one");
      torch::autograd::impl::set_post_acc_grad_hooks(parameters[i],
                                                     std::make_unique<Arrival>(*this, i));
    }
    restart();
  }
  ~Impl() {
    for (const at::Tensor& parameter : parameters)
      torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
  }

  void restart() {
    next = 0;
    for (Bucket& bucket : buckets) {
      bucket.missing = 0;
      bucket.launched = bucket.stale = false;
    }
    for (Count& count : counts) {
      count.now = 0;
      if (count.expected > 0) ++buckets[count.bucket].missing;
    }
  }

  void drain() {
    for (Bucket& bucket : buckets)
      if (bucket.wait) std::exchange(bucket.wait, nullptr)();
  }

  void arrived(size_t parameter) {
    Count& count = counts[parameter];
    Bucket& bucket = buckets[count.bucket];
    ++count.now;
    if (bucket.launched) bucket.stale = true;
    if (steps == 0 || count.now != count.expected) return;
    --bucket.missing;
    // The last one waits for the votes.
    while (next + 1 < buckets.size() && buckets[next].missing == 0) launch(buckets[next++], {});
  }

  void lay_out(Bucket& bucket, int64_t for_votes) {
    const at::Tensor& some = parameters[bucket.members.front().parameter];
    bucket.flat = at::zeros({bucket.elements + for_votes}, some.options().requires_grad(false));
    for (Member& member : bucket.members) {
      const at::Tensor& parameter = parameters[member.parameter];
      member.view =
          parameter.is_non_overlapping_and_dense()
              ? bucket.flat.as_strided(parameter.sizes(), parameter.strides(), member.offset)
              : bucket.flat.narrow(0, member.offset, parameter.numel()).view(parameter.sizes());
    }
  }

  // A gradient kept from the last step and accumulated into lies where it would be packed.
  bool holds_gradients(const Bucket& bucket) const {
    return std::any_of(bucket.members.begin(), bucket.members.end(), [&](const Member& member) {
      const at::Tensor& gradient = parameters[member.parameter].grad();
      return gradient.defined() && gradient.is_alias_of(bucket.flat);
    });
  }

  void launch(Bucket& bucket, std::span<const double> votes) {
    at::NoGradGuard no_grad;
    bucket.launched = true;
    bucket.stale = false;
    const int64_t for_votes = vote_elements(ranks, votes.size());
    if (!bucket.flat.defined() || bucket.flat.numel() != bucket.elements + for_votes ||
        holds_gradients(bucket))
      lay_out(bucket, for_votes);
    bool any = for_votes > 0;
    for (Member& member : bucket.members) any = pack(member) || any;
    if (!any) return;
    if (for_votes > 0)
      bucket.flat.narrow(0, bucket.elements, for_votes).copy_(pack_votes(ranks, votes));
    bucket.wait = ranks.start_sum(bucket.flat);
  }

  // False for a parameter without gradient.
  bool pack(Member& member) {
    const at::Tensor& gradient = parameters[member.parameter].grad();
    if (!gradient.defined()) {
      member.view.zero_();
      return false;
    }
    require(!gradient.is_sparse(), ErrorCode::unsupported,
            "sparse gradients cannot be averaged over ranks");
    at::mul_out(member.view, gradient, member.view.new_full({}, 1.0 / ranks.world()));
    return true;
  }

  void finish(std::span<double> votes) {
    at::NoGradGuard no_grad;
    for (; next < buckets.size(); ++next)
      launch(buckets[next], next + 1 == buckets.size() ? votes : std::span<double>());
    for (Bucket& bucket : buckets) {
      if (!bucket.stale) continue;
      if (bucket.wait) std::exchange(bucket.wait, nullptr)();
      launch(bucket, {});
    }
    drain();
    for (Bucket& bucket : buckets)
      for (Member& member : bucket.members) {
        at::Tensor& gradient = parameters[member.parameter].mutable_grad();
        if (gradient.defined()) gradient = member.view;
      }
    if (!votes.empty()) collect(votes);
    learn();
    restart();
  }

  void collect(std::span<double> votes) {
    if (!buckets.empty()) {
      const Bucket& last = buckets.back();
      const int64_t for_votes = vote_elements(ranks, votes.size());
      return unpack_votes(ranks, last.flat.narrow(0, last.elements, for_votes), votes);
    }
    at::Tensor alone = pack_votes(ranks, votes);
    ranks.sum_in_place(alone);
    unpack_votes(ranks, alone, votes);
  }

  void learn() {
    const bool look_again = steps++ % kPatience == 0;
    for (Count& count : counts) {
      count.most = std::max(count.most, count.now);
      count.expected = look_again ? count.most : std::max(count.expected, count.now);
      if (look_again) count.most = 0;
    }
  }
};

GradientReducer::GradientReducer(Ranks& ranks, std::vector<at::Tensor> parameters,
                                 int64_t bucket_bytes) {
  if (ranks.world() > 1) impl_ = std::make_unique<Impl>(ranks, std::move(parameters), bucket_bytes);
}
GradientReducer::~GradientReducer() = default;

void GradientReducer::begin_step() {
  if (!impl_) return;
  impl_->drain();
  impl_->restart();
}

void GradientReducer::finish(std::span<double> votes) {
  if (impl_) impl_->finish(votes);
}

}  // namespace gh::host
