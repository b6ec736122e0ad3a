#include "gh/testing/rank_hosts.hpp"

#include "gh/testing/compare.hpp"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace gh::testing {
namespace {

constexpr std::chrono::seconds kPatience{60};

// Where ranks wait for each other, each with a tensor and the name of what it asks for.
class Meeting {
 public:
  explicit Meeting(std::size_t ranks) : here_(ranks), what_(ranks), came_(ranks), left_(ranks) {}

  std::vector<at::Tensor> exchange(std::size_t rank, const std::string& what,
                                   const at::Tensor& tensor) {
    std::unique_lock lock(mutex_);
    const int64_t round = round_;
    here_[rank] = tensor;
    what_[rank] = what;
    came_[rank] = true;
    if (std::ranges::all_of(came_, [](char came) { return came; })) {
      for (const std::string& other : what_)
        if (other != what) trouble_ = fmt::format("{} and {}", what, other);
      result_ = here_;
      came_.assign(came_.size(), false);
      ++round_;
      changed_.notify_all();
    } else {
      changed_.wait_for(lock, kPatience, [&] { return round_ != round || somebody_left(); });
      if (round_ == round) trouble_ = fmt::format("{} on one rank, and nothing on another", what);
    }
    require(trouble_.empty(), ErrorCode::internal,
            "expected the same collectives in the same order on every rank, found ", trouble_);
    return result_;
  }
  void leave(std::size_t rank) {
    const std::lock_guard lock(mutex_);
    left_[rank] = true;
    changed_.notify_all();
  }

 private:
  bool somebody_left() const {
    return std::ranges::any_of(left_, [](char left) { return left; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<at::Tensor> here_, result_;
  std::vector<std::string> what_;
  std::vector<char> came_, left_;
  int64_t round_ = 0;
  std::string trouble_;
};

class RankHost final : public FakeHost {
 public:
  RankHost(RunFacts facts, Meeting& meeting) : FakeHost(std::move(facts)), meeting_(meeting) {}

  at::Tensor all_gather(const at::Tensor& rows) override {
    collective("all_gather");
    auto all = exchange("all_gather", rows);
    all[rank()] = rows;
    return at::cat(all);
  }
  at::Tensor all_reduce_sum(const at::Tensor& value) override {
    collective("all_reduce_sum");
    const auto all = exchange("all_reduce_sum", value);
    // The same order of additions on every rank.
    at::Tensor sum = rank() == 0 ? value : all[0];
    for (std::size_t r = 1; r < all.size(); ++r) sum = sum + (r == rank() ? value : all[r]);
    return sum;
  }
  at::Tensor shuffle_rows(const at::Tensor& rows) override {
    const auto all = exchange("shuffle_rows", FakeHost::shuffle_rows(rows));
    return all[(rank() + 1) % all.size()];
  }
  at::Tensor unshuffle_rows(const at::Tensor& rows) override {
    const auto all = exchange("unshuffle_rows", FakeHost::unshuffle_rows(rows));
    return all[(rank() + all.size() - 1) % all.size()];
  }
  at::Tensor embed_all(std::string_view views,
                       const std::function<at::Tensor(const at::Tensor&)>& embed) override {
    return exchange("embed_all", FakeHost::embed_all(views, embed))[0].clone();
  }
  void average_gradients(const TrainableList& trainables) override {
    const at::NoGradGuard no_grad;
    for (const at::Tensor& p : trainables.parameters) {
      const auto all = meeting_.exchange(rank(), "gradients",
                                         p.grad().defined() ? p.grad().detach().clone() : p.grad());
      if (std::ranges::none_of(all, [](const auto& g) { return g.defined(); })) continue;
      at::Tensor mean = at::zeros_like(p);
      for (const at::Tensor& g : all)
        if (g.defined()) mean.add_(g, 1.0 / static_cast<double>(all.size()));
      p.mutable_grad() = mean;
    }
  }

 private:
  std::size_t rank() const { return static_cast<std::size_t>(facts().rank); }
  std::vector<at::Tensor> exchange(std::string_view what, const at::Tensor& tensor) {
    return meeting_.exchange(rank(), fmt::format("{} of {}", what, describe(tensor)),
                             tensor.detach().clone());
  }
  Meeting& meeting_;
};

}  // namespace

struct RankHosts::Impl {
  explicit Impl(std::size_t ranks) : meeting(ranks) {}
  Meeting meeting;
  std::vector<std::unique_ptr<FakeHost>> hosts;
};

RankHosts::RankHosts(const RunFacts& facts, int ranks)
    : impl_(std::make_unique<Impl>(static_cast<std::size_t>(ranks))) {
  RunFacts own = facts;
  own.world = ranks;
  for (own.rank = 0; own.rank < ranks; ++own.rank)
    impl_->hosts.push_back(std::make_unique<RankHost>(own, impl_->meeting));
}
RankHosts::~RankHosts() = default;

FakeHost& RankHosts::host(int rank) { return *impl_->hosts.at(static_cast<std::size_t>(rank)); }

std::vector<std::exception_ptr> RankHosts::run(const std::function<void(int rank)>& work) {
  std::vector<std::exception_ptr> thrown(impl_->hosts.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < thrown.size(); ++rank)
    threads.emplace_back([&, rank] {
      at::set_num_threads(1);
      try {
        work(static_cast<int>(rank));
      } catch (...) {
        thrown[rank] = std::current_exception();
      }
      impl_->meeting.leave(rank);
    });
  for (std::thread& thread : threads) thread.join();
  return thrown;
}

}  // namespace gh::testing
