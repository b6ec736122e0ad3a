#include "data/sample_set.hpp"
#include "data/data_check.hpp"
#include "support/fake_data.hpp"
#include "support/temporary_directory.hpp"

#include <catch2/catch.hpp>

namespace {

using namespace gh;
using namespace gh::host;
using test::FakeSet;

TEST_CASE("vectors and small pictures live in memory, files do not") {
  const SampleSet vectors = test::vectors(5).samples();
  CHECK((vectors.in_memory() && !vectors.pictures()));
  CHECK(vectors.vector(4)[2] == 4.0f);
  CHECK(vectors.vector_shape() == std::vector<int64_t>{3});
  const FakeSet drawn = test::small_pictures(4, 17);
  const SampleSet pictures = drawn.samples();
  CHECK((pictures.in_memory() && pictures.pictures()));
  const FakeSet on_disk = test::files(4);
  const SampleSet files = on_disk.samples();
  CHECK((!files.in_memory() && files.pictures()));
}

TEST_CASE("a sample is spoken of by its position in the split, and by its name where it has one") {
  FakeSet set = test::vectors(9, 3);
  CHECK(set.samples().label(4) == "sample 4");
  set.name = [](int64_t i) { return "cats/" + std::to_string(i) + "\x1b.png"; };
  const SampleSet thinned =
      SampleSet::open(set, "train", 0, LongTail{.law = "counts", .counts = {1, 1, 1}});
  const std::string at = std::to_string(thinned.position(2));
  CHECK(thinned.label(2) == "sample " + at + " (cats/" + at + "\\x1b.png)");
}

TEST_CASE("pictures in memory are transposed planes of what the data set gave") {
  const FakeSet drawn = test::small_pictures(3, 17);
  const SampleSet set = drawn.samples();
  const auto pixels = test::pattern(17, 17, 2);
  const Columns columns = *set.columns(2);
  int wrong = 0;
  for (int y = 0; y < 17; ++y)
    for (int x = 0; x < 17; ++x)
      for (int c = 0; c < 3; ++c)
        wrong += columns.plane[c][x * columns.stride + y] != pixels[(y * 17 + x) * 3 + c];
  CHECK(wrong == 0);
}

TEST_CASE("grey pictures become three equal channels") {
  FakeSet grey;
  grey.shape = {1, 8, 8};
  grey.give = [](int64_t i, SampleSink& sink) { sink.pixels(test::pattern(8, 8, i, 1), 8, 8, 1); };
  const SampleSet set = grey.samples();
  const Columns columns = *set.columns(1);
  const auto pixels = test::pattern(8, 8, 1, 1);
  for (int c = 0; c < 3; ++c) CHECK(columns.plane[c][3 * 8 + 5] == pixels[5 * 8 + 3]);
}

TEST_CASE("samples in memory that cannot be read stop the opening, or only their own reading") {
  for (FakeSet fake : {test::vectors(6), test::small_pictures(6, 8)}) {
    fake.give = [give = fake.give](int64_t i, SampleSink& sink) {
      if (i == 0) fail(ErrorCode::missing_data, "sample-0 is gone");
      if (i == 3) fail(ErrorCode::io, "sample-3 is damaged");
      give(i, sink);
    };
    CHECK_THROWS_WITH(fake.samples(), Catch::Contains("sample-0 is gone") &&
                                          Catch::Contains("loader.on_error = \"skip\"") &&
                                          Catch::Contains("ghhost data check"));
    const SampleSet set = SampleSet::open(fake, "train", 0, std::nullopt, true);
    CHECK(set.size() == 6);
    CHECK(set.unreadable().size() == 2);
    CHECK_THROWS_WITH((set.vector(3), set.columns(3)), Catch::Contains("sample-3 is damaged"));
    CHECK((set.vector(4) || set.columns(4)));
    CHECK(read_everything(set, 1, [](int64_t) {}).unreadable.size() == 2);
  }
}

TEST_CASE("class names are made valid UTF-8") {
  struct Named final : Dataset {
    struct Half final : Split {
      FakeSet::FakeSplit whole;
      explicit Half(const FakeSet& set) : whole(set) {}
      int64_t size() const override { return whole.size(); }
      TargetKind target_kind() const override { return whole.target_kind(); }
      at::Tensor targets() const override { return whole.targets(); }
      std::vector<std::string> class_names() const override { return {"a\xff", "b", "c"}; }
      std::vector<int64_t> sample_shape() const override { return whole.sample_shape(); }
      void read(int64_t index, SampleSink& sink) const override { whole.read(index, sink); }
      std::string fingerprint() const override { return "fake"; }
    };
    FakeSet set = test::vectors(6);
    std::vector<std::string> splits() const override { return {"train"}; }
    std::unique_ptr<Split> open(std::string_view, uint64_t) const override {
      return std::make_unique<Half>(set);
    }
  };
  const Named named;
  CHECK(SampleSet::open(named, "train", 0, std::nullopt).class_names() ==
        std::vector<std::string>{"a\ufffd", "b", "c"});
}

TEST_CASE("a thinned set keeps the chosen samples, their targets and a fingerprint") {
  const FakeSet all = test::vectors(30);
  const SampleSet set =
      SampleSet::open(all, "train", 0, LongTail{.law = "counts", .counts = {5, 3, 1}});
  REQUIRE(set.size() == 9);
  for (int64_t i = 0; i < set.size(); ++i) {
    CHECK(set.vector(i)[0] == static_cast<float>(set.position(i)));
    CHECK(set.targets()[i].item<int64_t>() == set.position(i) % 3);
  }
  CHECK(set.class_counts()[0].item<int64_t>() == 5);
  CHECK(set.chosen_fingerprint() == fingerprint_of(set.chosen()));
  CHECK(all.samples().chosen_fingerprint().empty());
}

TEST_CASE("positions of a file choose among samples without classes, laws do not") {
  struct Ages final : test::FakeSet {
    class RealSplit final : public Split {
     public:
      int64_t size() const override { return 5; }
      TargetKind target_kind() const override { return TargetKind::real; }
      at::Tensor targets() const override { return at::arange(5, at::kDouble); }
      std::vector<int64_t> sample_shape() const override { return {1}; }
      void read(int64_t index, SampleSink& sink) const override {
        sink.vector(std::vector<float>{static_cast<float>(index)});
      }
      std::string fingerprint() const override { return "ages"; }
    };
    std::unique_ptr<Split> open(std::string_view, uint64_t) const override {
      return std::make_unique<RealSplit>();
    }
  } ages;
  const test::TemporaryDirectory dir;
  const LongTail listed{.law = "file", .file = dir.write("keep.txt", "4\n1\n")};
  const SampleSet set = SampleSet::open(ages, "train", 0, listed);
  CHECK((set.size() == 2 && set.vector(0)[0] == 4 && set.targets()[1].item<double>() == 1));
  CHECK_THROWS_WITH(SampleSet::open(ages, "train", 0, LongTail{.law = "exp", .ratio = 2}),
                    Catch::Contains("needs class labels"));
}

TEST_CASE("a broken split is refused with split, sample and reason") {
  const auto message = [](FakeSet set) {
    try {
      set.samples();
      return std::string("nothing");
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  FakeSet shorter = test::vectors(3, 2);
  shorter.give = [](int64_t i, SampleSink& sink) {
    const float values[2] = {1, 2};
    sink.vector(std::span(values).first(i == 1 ? 1 : 2));
  };
  CHECK_THAT(message(shorter),
             Catch::Contains("'train', sample 1") && Catch::Contains("of 1 values"));
  FakeSet silent = test::vectors(3);
  silent.give = [](int64_t i, SampleSink& sink) {
    if (i != 1) sink.vector(std::vector<float>(3));
  };
  CHECK_THAT(message(silent), Catch::Contains("sample 1") && Catch::Contains("no sample"));
  FakeSet mixed = test::small_pictures(3, 8);
  mixed.give = [](int64_t i, SampleSink& sink) {
    sink.pixels(test::pattern(8, 8 + (i == 2), i), 8, 8 + (i == 2), 3);
  };
  CHECK_THAT(message(mixed), Catch::Contains("sample 2") && Catch::Contains("8 × 9"));
  FakeSet channels = test::small_pictures(3, 8);
  channels.give = [](int64_t i, SampleSink& sink) {
    sink.pixels(test::pattern(8, 8, i, 4), 8, 8, 4);
  };
  CHECK_THAT(message(channels), Catch::Contains("1 or 3 channels"));
  FakeSet lying = test::small_pictures(3, 8);
  lying.give = [](int64_t i, SampleSink& sink) { sink.pixels(test::pattern(8, 8, i), 80, 80, 3); };
  CHECK_THAT(message(lying), Catch::Contains("192 bytes"));
  FakeSet empty = test::vectors(0);
  CHECK_THAT(message(empty), Catch::Contains("is empty"));
}

}  // namespace
