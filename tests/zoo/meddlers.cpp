// Evaluators that do what evaluators should not, and an allocator that counts: how the host bears
// them is tested in integration.
#include "gh/component.hpp"
#include "gh/interrupt.hpp"

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

namespace {

// Overwrites everything it is handed.
class Vandal : public gh::Evaluator {
 public:
  explicit Vandal(const gh::Params&) {}
  void evaluate(gh::Evaluation& evaluation) override {
    for (const char* split : {"train", "test"}) {
      const gh::Features& features = evaluation.features({.split = split});
      features.x.fill_(1);
      features.targets.zero_();
    }
    evaluation.class_counts().zero_();
    for (at::Tensor t : {evaluation.points(), evaluation.prior()})
      if (t.defined()) t.zero_();
    evaluation.metric("done", 1, "always 1");
  }
};

// Fails on one rank, or on all (−1), before it asks for features or after it.
class Failing : public gh::Evaluator {
 public:
  explicit Failing(const gh::Params& params)
      : rank_(params.integer("rank")), first_(params.boolean("first")) {}
  void evaluate(gh::Evaluation& evaluation) override {
    if (first_) fail(evaluation);
    evaluation.features({.split = "test"});
    fail(evaluation);
    evaluation.features({.split = "train"});
    evaluation.metric("done", 1, "always 1");
  }

 private:
  void fail(const gh::Evaluation& evaluation) const {
    if (rank_ < 0 || evaluation.facts().rank == rank_)
      gh::fail(gh::ErrorCode::numeric, "a tantrum");
  }
  int64_t rank_;
  bool first_;
};

// Gives every sample to one point, and insists on the number of rows it was told of.
class Counting : public gh::Allocator {
 public:
  explicit Counting(const gh::Params& params) : rows_(params.integer("rows")) {}
  void check(const gh::AllocatorFacts& facts, gh::Complaints& out) const override {
    if (facts.batch != rows_)
      out.add("rows", "the host says that assign() sees " + std::to_string(facts.batch) + " rows");
  }
  at::Tensor assign(const gh::AssignRequest& request, gh::AssignReport&) override {
    gh::require(request.logits.size(0) == rows_, gh::ErrorCode::shape, "assign() sees ",
                request.logits.size(0), " rows");
    return request.logits.softmax(1);
  }

 private:
  int64_t rows_;
};

// Goes on when a file is there: as long as a test wants. Deaf: whatever signals come.
void wait_for(const std::string& file, bool deaf = false) {
  while (!std::filesystem::exists(file)) {
    if (!deaf) gh::throw_if_interrupted();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

class WaitingEvaluator : public gh::Evaluator {
 public:
  explicit WaitingEvaluator(const gh::Params& params)
      : file_(params.text("file")), deaf_(params.boolean("deaf")) {}
  void evaluate(gh::Evaluation& evaluation) override {
    wait_for(file_, deaf_);
    evaluation.metric("done", 1, "always 1");
  }

 private:
  std::string file_;
  bool deaf_;
};

class WaitingAllocator : public gh::Allocator {
 public:
  explicit WaitingAllocator(const gh::Params& params) : file_(params.text("file")) {}
  at::Tensor assign(const gh::AssignRequest& request, gh::AssignReport&) override {
    wait_for(file_);
    return request.logits.softmax(1);
  }

 private:
  std::string file_;
};

constexpr gh::Param kWaiting[] = {
    gh::text("file", "\"\"", "to wait for"),
    gh::boolean("deaf", "false", "to signals"),
};
constexpr gh::Param kFailing[] = {
    gh::integer("rank", "-1", "which fails; -1: all"),
    gh::boolean("first", "false", "before anything is asked for"),
};
constexpr gh::Param kCounting[] = {gh::integer("rows", "1", "that assign() should see")};
constexpr gh::Component kComponents[] = {
    gh::describe<Vandal>("zoo_vandal", "overwrites what it is handed"),
    gh::describe<Failing>("zoo_failing", "throws", kFailing),
    gh::describe<WaitingEvaluator>("zoo_waiting", "waits for a file", kWaiting),
    gh::describe<WaitingAllocator>("zoo_waiting", "waits for a file", kWaiting),
    gh::describe<Counting>("zoo_counting", "counts rows", kCounting),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .doc = "Meddles with its host")
