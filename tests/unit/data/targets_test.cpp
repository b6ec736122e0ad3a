#include "data/targets.hpp"
#include "data/sample_set.hpp"
#include "support/fake_data.hpp"
#include "support/temporary_directory.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>

#include <cmath>

namespace {

using namespace gh;
using namespace gh::host;

struct Refusal {
  std::string key, text;
};
Refusal refusal(const test::FakeSet& set, const std::optional<LongTail>& long_tail = {}) {
  try {
    SampleSet::open(set, "train", 0, long_tail);
    return {};
  } catch (const DataRefused& refused) {
    return {refused.key(), refused.what()};
  }
}

test::FakeSet with(TargetKind kind, at::Tensor targets, std::vector<std::string> names = {}) {
  test::FakeSet set = test::vectors(3);
  set.kind = kind;
  set.given_targets = std::move(targets);
  set.names = std::move(names);
  return set;
}

at::Tensor labels(std::vector<int64_t> of) { return at::tensor(of, at::kLong); }

TEST_CASE("class labels are whole numbers from 0 on, as many as there are samples and names") {
  using enum TargetKind;
  CHECK(refusal(with(classes, labels({0, 2, 1}), {"a", "b", "c"})).text.empty());
  CHECK(refusal(with(classes, labels({0, 700000, 1}))).text.empty());
  struct Case {
    at::Tensor targets;
    std::vector<std::string> names;
    const char* says;
  };
  const Case cases[] = {
      {at::tensor({0.0F, 1.0F, 2.0F}), {}, "int64, the data set gives Float"},
      {at::zeros({3, 1}, at::kLong), {}, "shape [3, 1]"},
      {labels({0, 1}), {}, "3 samples but targets of another number"},
      {at::Tensor(), {}, "3 samples but targets of another number"},
      {labels({0, 1, -1}), {}, "sample 2 has the label -1"},
      {labels({0, int64_t{1} << 40, 1}), {}, "sample 1 has the label 1099511627776"},
      {labels({0, 2, 1}), {"a", "b"}, "sample 1 has the label 2, but there are names of 2 classes"},
  };
  for (const Case& c : cases) {
    test::FakeSet set = with(classes, c.targets, c.names);
    if (!c.targets.defined()) set.kind = real;  // FakeSet makes class labels by itself
    const Refusal got = refusal(set);
    CHECK(got.key == "data.id");
    CHECK_THAT(got.text, Catch::Contains(c.says) && Catch::Contains("'train'"));
  }
}

TEST_CASE("real targets are finite, several labels are bytes") {
  using enum TargetKind;
  CHECK(refusal(with(real, at::full({3}, 0.5, at::kDouble))).text.empty());
  CHECK_THAT(refusal(with(real, at::tensor({1.0, 2.0, std::nan("")}, at::kDouble))).text,
             Catch::Contains("sample 2 is nan"));
  CHECK_THAT(refusal(with(real, labels({1, 2, 3}))).text, Catch::Contains("float64"));
  CHECK(refusal(with(multi, at::zeros({3, 4}, at::kByte))).text.empty());
  CHECK_THAT(refusal(with(multi, at::zeros({3}, at::kByte))).text, Catch::Contains("uint8"));
  CHECK_THAT(refusal(with(multi, at::zeros({3, 4}, at::kFloat))).text, Catch::Contains("uint8"));
  CHECK(refusal(with(none, {})).text.empty());
  CHECK_THAT(refusal(with(static_cast<TargetKind>(9), labels({0, 0, 0}))).text,
             Catch::Contains("unknown kind 9"));
}

TEST_CASE("a long tail of what has no labels is refused at its law, a list of positions is not") {
  const test::FakeSet bare = with(TargetKind::none, {});
  const Refusal got = refusal(bare, LongTail{.law = "exp", .ratio = 2});
  CHECK(got.key == "data.longtail.law");
  CHECK_THAT(got.text, Catch::Contains("needs class labels"));
  const test::TemporaryDirectory dir;
  const SampleSet set = SampleSet::open(
      bare, "train", 0, LongTail{.law = "file", .file = dir.write("keep.txt", "2\n0\n")});
  CHECK((set.size() == 2 && set.vector(0)[0] == 2 && !set.targets().defined()));
  CHECK(refusal(test::vectors(9), LongTail{.law = "exp", .ratio = 1000}).key ==
        "data.longtail.ratio");
  CHECK(refusal(test::vectors(9), LongTail{.law = "counts", .counts = {1}}).key ==
        "data.longtail.counts");
  CHECK(refusal(bare, LongTail{.law = "file", .file = dir.write("far.txt", "7\n")}).key ==
        "data.longtail.file");
}

}  // namespace
