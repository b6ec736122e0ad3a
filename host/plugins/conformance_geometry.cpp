// Structures and allocators.
#include "plugins/conformance_checks.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linspace.h>
#include <fmt/format.h>

#include <cmath>

namespace gh::host {
namespace {

constexpr int64_t kWidths[] = {2, 3, 8, 32, 128, 512};
constexpr int kWidthsTried = 3;

// Largest cosine between two different rows.
double largest_cosine(const at::Tensor& points) {
  const at::Tensor self = at::eye(points.size(0), points.options()) * 4;
  return (points.matmul(points.t()) - self).max().item<double>();
}

void check_points(const Structure& structure, const at::Tensor& p, int64_t width, Findings& out) {
  const bool shaped = p.defined() && p.dim() == 2 && p.size(0) > 0 && p.size(1) == width &&
                      p.scalar_type() == at::kDouble && p.is_cpu();
  if (!out.expect(shaped,
                  fmt::format("expected Double [K, {}] on the CPU, found {}", width, describe(p))))
    return;
  if (!out.expect(all_finite(p), "expected finite points, found NaN or infinity")) return;
  const double off = (p.norm(2, 1) - 1).abs().max().item<double>();
  out.expect(off < 1e-6,
             fmt::format("expected unit rows, found a length that is off by {:.3g}", off),
             "they are normalised in float32, or not at all");
  out.expect(identical(p, structure.points(width, Random(1))),
             "expected the same points for the same Random, found others",
             "a generator of its own, or a member that counts");
  const double bound = structure.best_cosine(width);
  if (std::isnan(bound) || p.size(0) < 2) return;
  const double found = largest_cosine(p);
  out.expect(
      found > bound - 1e-6,
      fmt::format("best_cosine() says {:.6g} is the smallest possible, its own points have {:.6g}",
                  bound, found));
}

// What an allocator says of itself.
struct Listener : AssignReport {
  explicit Listener(Findings& to) : out(to) {}
  void scalar(std::string_view name, double value) override {
    if (const std::string fault = fault_of_name(name); !fault.empty())
      out.violation(fault + " for scalar()");
    out.expect(!std::isinf(value), fmt::format("expected a number for {}, found infinity", name));
  }
  Findings& out;
};

constexpr int64_t kSamples = 24;
constexpr int64_t kPoints = 6;
constexpr int64_t kWidth = 8;
constexpr int64_t kDataSet = 4 * kSamples;

AssignRequest trial_request(uint32_t flags) {
  AssignRequest request;
  request.logits = at::empty({kSamples, kPoints}, at::kFloat);
  Random(2).fill_uniform(request.logits, -1, 1);
  request.indices = at::arange(kSamples, at::kLong);
  if (flags & GH_SEES_LABELS) request.labels = request.indices.remainder(kPoints);
  return request;
}

struct NamedPrior {
  const char* name;
  at::Tensor prior;
};
std::vector<NamedPrior> trial_priors() {
  const at::Tensor skewed = at::linspace(1, kPoints, kPoints, at::kDouble).pow(3);
  at::Tensor gaps = at::full({kPoints}, 1.0, at::kDouble);
  gaps[1].zero_();
  gaps[kPoints - 1].zero_();
  return {{"no prior", {}},
          {"uniform prior", at::full({kPoints}, 1.0 / kPoints, at::kDouble)},
          {"skewed prior", skewed / skewed.sum()},
          {"prior with zeros", gaps / gaps.sum()}};
}

void check_targets(const at::Tensor& targets, const at::Tensor& logits, Findings& out) {
  const bool shaped = targets.defined() && targets.sizes() == logits.sizes() &&
                      targets.scalar_type() == logits.scalar_type();
  if (!out.expect(shaped, fmt::format("expected targets {}, found {}", describe(logits),
                                      describe(targets))))
    return;
  if (!out.expect(all_finite(targets), "expected finite targets, found NaN or infinity")) return;
  const double least = targets.min().item<double>();
  out.expect(least >= -1e-6, fmt::format("expected no negative target, found {:.3g}", least));
  const double off = (targets.sum(1) - 1).abs().max().item<double>();
  out.expect(off < 1e-3,
             fmt::format("expected rows that sum to 1, found one that is off by {:.3g}", off));
}

at::Tensor unit_rows(int64_t rows, at::ScalarType dtype, uint64_t key) {
  const at::Tensor x = at::empty({rows, kWidth}, dtype);
  Random(key).fill_normal(x, 0, 1);
  return x / x.norm(2, 1, true);
}

// A fitted allocator, as the host would hand it to training.
ComponentPtr<Allocator> ready(const Make<Allocator>& make, uint32_t flags, Findings& out) {
  ComponentPtr<Allocator> allocator = make();
  if (allocator->fit_every() <= 0) return allocator;
  out.part("fit");
  FitRequest request;
  const at::Tensor embeddings = unit_rows(kDataSet, at::kFloat, 3);
  request.points = unit_rows(kPoints, at::kDouble, 4);
  request.table = embeddings.matmul(request.points.to(at::kFloat).t());
  if (!allocator->query(kFitsTable)) request.embeddings = embeddings;
  request.prior = at::full({kPoints}, 1.0 / kPoints, at::kDouble);
  request.indices = at::arange(kDataSet, at::kLong);
  if (flags & GH_SEES_LABELS) request.labels = request.indices.remainder(kPoints);
  request.random = Random(5);
  Listener report(out);
  const at::Tensor centres = allocator->fit(request, report);
  if (centres.defined())
    out.expect(centres.dim() == 2 && centres.size(0) == kPoints && centres.size(1) == kWidth &&
                   all_finite(centres),
               fmt::format("expected finite centres [{}, {}] or none, found {}", kPoints, kWidth,
                           describe(centres)));
  return allocator;
}

void check_pairs(Allocator& allocator, const AssignRequest& first, Findings& out) {
  void* const paired = allocator.query(PairedAllocator::kId);
  if (!paired) return;
  out.part("assign_both");
  AssignRequest second = first;
  second.logits = first.logits.flip(0);
  Listener report(out);
  const auto [a, b] = static_cast<PairedAllocator*>(paired)->assign_both(first, second, report);
  out.expect(identical(a, allocator.assign(first, report)) &&
                 identical(b, allocator.assign(second, report)),
             "expected the targets that assign() gives each view, found others");
}

void check_differentiable(Allocator& allocator, const AllocatorFacts& facts, AssignRequest request,
                          Findings& out) {
  out.part("assign, differentiable");
  ComplaintList complaints(out);
  allocator.check(facts, complaints);
  if (!complaints.empty()) return;  // the recipe is refused before training
  request.logits = request.logits.clone().requires_grad_(true);
  request.differentiable = true;
  Listener report(out);
  try {
    if (!allocator.assign(request, report).requires_grad())
      out.remark(
          "targets carry no gradient; complain in check() where AllocatorFacts says "
          "differentiable");
  } catch (const Error& e) {
    if (e.code() != ErrorCode::unsupported) throw;
    out.remark(
        "refuses only while training; complain in check() where AllocatorFacts says "
        "differentiable");
  }
}

}  // namespace

void check_structure(const Make<Structure>& make, Findings& out) {
  const auto structure = make();
  int tried = 0, coincide = 0;
  for (const int64_t width : kWidths) {
    ComplaintList complaints(out);
    out.part(fmt::format("check({})", width));
    structure->check(width, complaints);
    if (!complaints.empty()) continue;
    out.part(fmt::format("points({})", width));
    const at::Tensor points = structure->points(width, Random(1));
    check_points(*structure, points, width, out);
    if (!points.defined()) break;
    out.expect(identical(points, make()->points(width, Random(1))),
               "expected the same points from another instance, found others");
    if (points.dim() == 2 && points.size(0) > 1 && largest_cosine(points) > 1 - 1e-9) ++coincide;
    if (++tried == kWidthsTried) break;
  }
  // On a circle many points may well meet.
  out.expect(tried == 0 || coincide < tried, "expected points that differ, found two that coincide",
             "more points than the construction has; refuse them in check()");
  out.part("check");
  if (tried == 0) return out.remark("NOT TRIED: refuses every width from 2 to 512");
  out.tried(fmt::format("points of {} widths, twice and from two instances", tried));
  out.part("");
  out.remark("not tried: whether the points are the best there are");
}

// An assignment under `request`, whose tensors are the host's.
at::Tensor assigned(Allocator& allocator, const AssignRequest& request, Findings& out) {
  Listener report(out);
  AssignRequest given = request;
  for (at::Tensor* t : {&given.logits, &given.prior, &given.indices, &given.labels})
    if (t->defined()) *t = t->clone();
  const at::Tensor targets = allocator.assign(given, report);
  check_targets(targets, request.logits, out);
  const char* likely = "an operator in place, such as x.div_()";
  out.expect(identical(given.logits, request.logits), "changed the logits it was given", likely);
  out.expect(identical(given.prior, request.prior), "changed the prior it was given", likely);
  out.expect(identical(given.indices, request.indices) && identical(given.labels, request.labels),
             "changed the indices or labels it was given", likely);
  return targets;
}

// Fewer rows, as the last batch of an epoch has, and another precision.
void check_sizes(Allocator& allocator, AllocatorFacts facts, const AssignRequest& all,
                 Findings& out) {
  for (const int64_t rows : {5, 1}) {
    facts.batch = rows;
    ComplaintList complaints(out);
    allocator.check(facts, complaints);
    if (!complaints.empty()) continue;
    AssignRequest request = all;
    request.logits = all.logits.narrow(0, 0, rows).clone();
    request.indices = all.indices.narrow(0, 0, rows);
    if (all.labels.defined()) request.labels = all.labels.narrow(0, 0, rows);
    out.attempt(
        "assign", [&] { assigned(allocator, request, out); },
        fmt::format("a batch of {} rows is one that it cannot serve", rows));
  }
  AssignRequest request = all;
  request.logits = all.logits.to(at::kDouble);
  out.attempt(
      "assign", [&] { assigned(allocator, request, out); },
      "float64 logits meet a tensor of another type");
}

// What fit() and earlier calls left behind is in the state, or a resumed run assigns otherwise.
void check_resuming(Allocator& used, const Make<Allocator>& make, const AssignRequest& request,
                    Findings& out) {
  StateMap saved;
  used.visit_state(saved);
  for (const std::string& fault : saved.faults) out.violation(fault);
  const auto fresh = make();
  StateMap loader = StateMap::loader_of(saved);
  fresh->visit_state(loader);
  for (const std::string& fault : loader.faults) out.violation(fault);
  const at::Tensor expected = assigned(used, request, out);
  std::string difference;
  try {
    if (!identical(expected, assigned(*fresh, request, out))) difference = "targets differ";
  } catch (...) {
    difference = "assign() threw " + thrown_now();
  }
  out.part("visit_state");
  out.expect(difference.empty(),
             "expected an allocator that loaded the state of another to assign as that one does, "
             "found that " +
                 difference,
             "something that fit() or assign() leaves for later (labels, a running mean) is not in "
             "visit_state()");
}

void check_allocator(const Make<Allocator>& make, uint32_t flags, Findings& out) {
  out.part("check");
  ComplaintList complaints(out);
  AllocatorFacts facts;
  facts.points = kPoints;
  facts.width = kWidth;
  facts.batch = kSamples;
  facts.samples = kDataSet;
  facts.classes = flags & GH_SEES_LABELS ? kPoints : 0;
  make()->check(facts, complaints);
  if (!complaints.empty()) return out.remark("NOT TRIED: refuses the trial: " + complaints.text());
  const auto first = ready(make, flags, out), second = ready(make, flags, out);
  AssignRequest request = trial_request(flags);
  for (const NamedPrior& named : trial_priors()) {
    out.part(fmt::format("assign with {}", named.name));
    request.prior = named.prior;
    const at::Tensor targets = assigned(*first, request, out);
    if (!(flags & GH_NONDETERMINISTIC))
      out.expect(identical(targets, assigned(*second, request, out)),
                 "expected the same targets from another instance, found others");
  }
  out.tried("four priors, batches of 24, 5 and 1, float64, a state that another loads");
  check_sizes(*first, facts, request, out);
  if (!(flags & GH_NONDETERMINISTIC))
    out.attempt("visit_state", [&] { check_resuming(*first, make, request, out); });
  check_pairs(*first, request, out);
  facts.differentiable = true;
  check_differentiable(*first, facts, request, out);
  out.part("");
  out.remark("not tried: CUDA, targets of more than one fit");
}

}  // namespace gh::host