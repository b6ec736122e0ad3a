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
             fmt::format("expected unit rows, found a length that is off by {:.3g}", off));
  out.expect(identical(p, structure.points(width, Random(1))),
             "expected the same points for the same Random, found others");
  const double bound = structure.best_cosine(width);
  if (std::isnan(bound) || p.size(0) < 2) return;
  const double found = largest_cosine(p);
  out.expect(
      found > bound - 1e-6,
      fmt::format("best_cosine() says {:.6g} is the smallest possible, its own points have {:.6g}",
                  bound, found));
}

struct Quiet : AssignReport {
  void scalar(std::string_view, double) override {}
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
  Quiet report;
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
  Quiet report;
  const auto [a, b] = static_cast<PairedAllocator*>(paired)->assign_both(first, second, report);
  out.expect(identical(a, allocator.assign(first, report)) &&
                 identical(b, allocator.assign(second, report)),
             "expected the targets that assign() gives each view, found others");
}

void check_differentiable(Allocator& allocator, const AllocatorFacts& facts, AssignRequest request,
                          Findings& out) {
  out.part("assign, differentiable");
  ComplaintList complaints;
  allocator.check(facts, complaints);
  if (!complaints.empty()) return;  // the recipe is refused before training
  request.logits = request.logits.clone().requires_grad_(true);
  request.differentiable = true;
  Quiet report;
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
  int tried = 0;
  for (const int64_t width : kWidths) {
    ComplaintList complaints;
    out.part(fmt::format("check({})", width));
    structure->check(width, complaints);
    if (!complaints.empty()) continue;
    out.part(fmt::format("points({})", width));
    const at::Tensor points = structure->points(width, Random(1));
    check_points(*structure, points, width, out);
    if (points.defined())
      out.expect(identical(points, make()->points(width, Random(1))),
                 "expected the same points from another instance, found others");
    if (++tried == kWidthsTried) break;
  }
  out.part("check");
  if (tried == 0) out.remark("refuses every width from 2 to 512 with default parameters");
}

void check_allocator(const Make<Allocator>& make, uint32_t flags, Findings& out) {
  out.part("check");
  ComplaintList complaints;
  AllocatorFacts facts;
  facts.points = kPoints;
  facts.width = kWidth;
  facts.batch = kSamples;
  facts.samples = kDataSet;
  facts.classes = flags & GH_SEES_LABELS ? kPoints : 0;
  make()->check(facts, complaints);
  if (!complaints.empty()) return out.remark("refuses the trial: " + complaints.text());
  const auto first = ready(make, flags, out), second = ready(make, flags, out);
  AssignRequest request = trial_request(flags);
  Quiet report;
  for (const NamedPrior& named : trial_priors()) {
    out.part(fmt::format("assign with {}", named.name));
    request.prior = named.prior;
    const at::Tensor before = request.logits.clone();
    const at::Tensor targets = first->assign(request, report);
    check_targets(targets, request.logits, out);
    out.expect(identical(before, request.logits), "changed the logits it was given");
    if (!(flags & GH_NONDETERMINISTIC))
      out.expect(identical(targets, second->assign(request, report)),
                 "expected the same targets from another instance, found others");
  }
  check_pairs(*first, request, out);
  facts.differentiable = true;
  check_differentiable(*first, facts, request, out);
}

}  // namespace gh::host
