// Evaluators: asked about a data set of four classes, and about others that lack something.
#include "plugins/conformance_checks.hpp"
#include "plugins/fake_evaluation.hpp"

#include <fmt/format.h>

namespace gh::host {
namespace {

struct Case {
  const char* name;
  FakeSplits splits;
};
const Case kPlain = {"labelled images", {}};
const Case kFlat = {"embeddings on a plane", {.embedding = 2}};
const Case kOthers[] = {
    {"a data set without a test split", {.test = false}},
    {"a data set without targets", {.targets = TargetKind::none}},
    {"a data set of real targets", {.targets = TargetKind::real}},
    {"a data set of several labels a sample", {.targets = TargetKind::multi}},
    {"a run without [harmonize]", {.harmonized = false}},
};

std::string complaints_of(const Evaluator& evaluator, const FakeSplits& splits, Findings& out) {
  ComplaintList complaints(out);
  evaluator.check(FakeEvaluation::facts_of(splits), complaints);
  return complaints.text();
}

std::string evaluate(Evaluator& evaluator, const FakeSplits& splits, Findings& out) {
  FakeEvaluation evaluation(splits);
  evaluator.evaluate(evaluation);
  evaluation.finish();
  for (const std::string& fault : evaluation.faults())
    out.violation(fault, fault.starts_with("changed") ? "an operator in place: clone() first" : "");
  return evaluation.reported();
}

// check() accepts what evaluate() cannot do.
void check_other(const Make<Evaluator>& make, const Case& other, Findings& out) {
  const auto evaluator = make();
  if (!complaints_of(*evaluator, other.splits, out).empty()) return;
  try {
    evaluate(*evaluator, other.splits, out);
  } catch (...) {
    const std::string thrown = thrown_now();
    out.part("check");
    out.violation(fmt::format("expected a complaint about {}, found none, and evaluate() threw {}",
                              other.name, thrown),
                  "check() does not look at EvalFacts; gh/split_checks.hpp has what most need");
  }
  out.tried(other.name);
}

}  // namespace

void check_evaluator(const Make<Evaluator>& make, Findings& out) {
  const auto evaluator = make();
  out.part("check");
  bool tried = false, sound = true;
  for (const Case& each : {kPlain, kOthers[2], kOthers[3], kFlat}) {
    if (!complaints_of(*evaluator, each.splits, out).empty()) continue;
    tried = true;
    out.tried(each.name);
    sound = out.attempt("evaluate", [&] {
      const std::string first = evaluate(*evaluator, each.splits, out);
      if (first.empty()) return out.remark("reports nothing");
      out.expect(evaluate(*evaluator, each.splits, out) == first,
                 "expected the same results when asked again, found others",
                 "it remembers something from one moment to the next");
      out.expect(evaluate(*make(), each.splits, out) == first,
                 "expected the same results from another instance, found others",
                 "draws that are not of Evaluation::random(), or mutable statics");
    });
    break;
  }
  if (!tried)
    return out.remark("NOT TRIED: refuses every trial: " +
                      complaints_of(*evaluator, kPlain.splits, out));
  if (!sound) return out.remark("other data sets were not tried: mend this first");
  for (const Case& other : kOthers) out.attempt("evaluate", [&] { check_other(make, other, out); });
  out.part("");
  out.remark("not tried: pictures of samples, lists of samples in files, CUDA");
}

}  // namespace gh::host
