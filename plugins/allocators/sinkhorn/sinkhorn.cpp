// Optimal transport of a batch onto the points (gh/ops/sinkhorn.hpp), for both views at once where
// the host asks for both.
#include "gh/ops/sinkhorn.hpp"
#include "gh/component.hpp"

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace {

using gh::ops::SinkhornOptions;
using gh::ops::SinkhornProblem;
using gh::ops::SinkhornResult;

class Sinkhorn final : public gh::Allocator, public gh::PairedAllocator {
 public:
  explicit Sinkhorn(const gh::Params& params)
      : trace_(params.has("trace") ? params.text("trace") : "") {
    options_.epsilon = params.real("epsilon");
    options_.iterations = params.integer("iterations");
    options_.tolerance = params.real("tolerance");
    options_.relaxation = params.real("relaxation");
    options_.domain = gh::ops::sinkhorn_domain(params.text("domain"));
    options_.trace = !trace_.empty();
  }

  at::Tensor assign(const gh::AssignRequest& request, gh::AssignReport& report) override {
    return assign_all({&request}, report)[0];
  }

  std::pair<at::Tensor, at::Tensor> assign_both(const gh::AssignRequest& first,
                                                const gh::AssignRequest& second,
                                                gh::AssignReport& report) override {
    const std::vector<at::Tensor> both = assign_all({&first, &second}, report);
    return {both[0], both[1]};
  }

  void* query(const char* id) override {
    if (std::strcmp(id, gh::PairedAllocator::kId) == 0)
      return static_cast<gh::PairedAllocator*>(this);
    return nullptr;
  }

 private:
  std::vector<at::Tensor> assign_all(const std::vector<const gh::AssignRequest*>& requests,
                                     gh::AssignReport& report) {
    std::vector<SinkhornProblem> problems;
    bool differentiable = false;
    for (const gh::AssignRequest* request : requests) {
      problems.push_back({computable(request->logits), request->prior});
      differentiable |= request->differentiable;
    }
    std::vector<SinkhornResult> results;
    if (differentiable)
      for (const SinkhornProblem& p : problems)
        results.push_back(gh::ops::sinkhorn_with_gradient(p, options_));
    else
      results = gh::ops::sinkhorn(problems, options_);

    std::vector<at::Tensor> targets;
    for (size_t i = 0; i < results.size(); ++i) {
      report.scalar("iterations", static_cast<double>(results[i].iterations));
      report.scalar("residual", results[i].residual);
      report.scalar("change", results[i].change);
      targets.push_back(results[i].targets.to(requests[i]->logits.scalar_type()));
    }
    if (options_.trace) append(results);
    return targets;
  }

  // Half precision comes under autocast.
  static at::Tensor computable(const at::Tensor& logits) {
    const bool half = logits.defined() &&
                      (logits.scalar_type() == at::kHalf || logits.scalar_type() == at::kBFloat16);
    return half ? logits.to(at::kFloat) : logits;
  }

  // A line of JSON an assignment: the changes of its iterations.
  void append(const std::vector<SinkhornResult>& results) const {
    std::ofstream file(trace_, std::ios::app);
    file.precision(9);
    for (const SinkhornResult& result : results) {
      file << '[';
      for (size_t t = 0; t < result.trace.size(); ++t) file << (t ? "," : "") << result.trace[t];
      file << "]\n";
    }
    file.close();
    gh::require(!file.fail(), gh::ErrorCode::io, "cannot append the trace to ", trace_);
  }

  SinkhornOptions options_;
  std::string trace_;
};

constexpr gh::Param kParams[] = {
    gh::integer("iterations", "300", "scaling rounds, all of them unless tolerance is above 0")
        .at_least(1)
        .at_most(100000000),
    gh::real("epsilon", "0.05", "entropic regularisation; smaller gives harder targets").above(0),
    gh::choice("domain", "auto", "auto|linear|log",
               "where the scaling happens; auto takes log when exp(logits/epsilon) would overflow"),
    gh::real("tolerance", "0.0", "stop when the points' scaling changes by less; 0: never")
        .at_least(0),
    gh::real("relaxation", "1.0", "over-relaxation of the scaling; 1 is plain")
        .at_least(1)
        .below(2),
    gh::path("trace", nullptr,
             "file to append to: a line of JSON an assignment, the change of every iteration")
        .optional(),
};
constexpr gh::Component kComponents[] = {
    gh::describe<Sinkhorn>("sinkhorn", "optimal transport to the points under the tracked prior",
                           kParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc = "The surrogate label allocation of Geometric Harmonization")
