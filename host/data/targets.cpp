#include "data/targets.hpp"

#include <ATen/ops/isfinite.h>
#include <c10/core/ScalarType.h>

#include <sstream>

namespace gh::host {
namespace {

template <class... Parts>
void expect(bool condition, std::string_view split, const Parts&... parts) {
  if (condition) return;
  std::ostringstream text;
  text << "split '" << split << "': ";
  (text << ... << parts);
  throw DataRefused("data.id", ErrorCode::shape, text.str());
}

// The first sample for which `bad` [n] bool holds.
int64_t first_of(const at::Tensor& bad) { return bad.nonzero()[0][0].item<int64_t>(); }

void check_type(std::string_view split, const at::Tensor& targets, at::ScalarType type,
                int64_t dimensions, const char* words) {
  expect(targets.scalar_type() == type && targets.dim() == dimensions && targets.is_cpu(), split,
         words, ", the data set gives ", c10::toString(targets.scalar_type()), " of shape ",
         targets.sizes(), targets.is_cpu() ? "" : " on another device than the CPU");
}

void check_classes(std::string_view split, const at::Tensor& labels,
                   const std::vector<std::string>& names) {
  check_type(split, labels, at::kLong, 1, "class labels are [samples] int64");
  if (const at::Tensor bad = labels.lt(0); bad.any().item<bool>()) {
    const int64_t sample = first_of(bad);
    expect(false, split, "sample ", sample, " has the label ", labels[sample].item<int64_t>(),
           "; labels count from 0 (a split without labels says TargetKind::none)");
  }
  const auto limit = names.empty() ? kMostClasses : static_cast<int64_t>(names.size());
  const at::Tensor bad = labels.ge(limit);
  if (!bad.any().item<bool>()) return;
  const int64_t sample = first_of(bad);
  if (names.empty())
    expect(false, split, "sample ", sample, " has the label ", labels[sample].item<int64_t>(),
           "; labels count from 0, and there may be ", kMostClasses, " classes at most");
  expect(false, split, "sample ", sample, " has the label ", labels[sample].item<int64_t>(),
         ", but there are names of ", names.size(), " classes");
}

void check_reals(std::string_view split, const at::Tensor& values) {
  check_type(split, values, at::kDouble, 1, "real targets are [samples] float64");
  const at::Tensor bad = at::isfinite(values).logical_not();
  if (!bad.any().item<bool>()) return;
  const int64_t sample = first_of(bad);
  expect(false, split, "the target of sample ", sample, " is ", values[sample].item<double>(),
         "; real targets are finite");
}

}  // namespace

void check_targets(std::string_view split, const Split& opened, const at::Tensor& targets,
                   const std::vector<std::string>& names) {
  const TargetKind kind = opened.target_kind();
  if (kind == TargetKind::none) return;
  expect(targets.defined() && targets.dim() >= 1 && targets.size(0) == opened.size(), split,
         "there are ", opened.size(), " samples but targets of another number: ",
         targets.defined() ? targets.sizes() : at::IntArrayRef());
  switch (kind) {
    case TargetKind::none:
      return;
    case TargetKind::classes:
      return check_classes(split, targets, names);
    case TargetKind::multi:
      return check_type(split, targets, at::kByte, 2,
                        "targets of several labels are [samples, labels] uint8");
    case TargetKind::real:
      return check_reals(split, targets);
  }
  expect(false, split, "targets of the unknown kind ", static_cast<int>(kind));
}

}  // namespace gh::host
