#include "data/long_tail.hpp"
#include "data/index_file.hpp"
#include "data/known_sets.hpp"
#include "support/places.hpp"
#include "support/temporary_directory.hpp"
#include "support/vectors.hpp"

#include "gh/digest.hpp"
#include "gh/error.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>

namespace {

using namespace gh;
using Catch::Contains;
using Catch::EndsWith;
using host::LongTail;
using host::read_index_file;
using host::thin;
using Positions = std::vector<int64_t>;

at::Tensor balanced(int64_t classes, int64_t each) {
  return at::arange(classes * each, at::kLong).floor_divide(each);
}

Positions list(const at::Tensor& t) {
  const at::Tensor flat = t.contiguous();
  return {flat.data_ptr<int64_t>(), flat.data_ptr<int64_t>() + flat.numel()};
}

Positions counts(const at::Tensor& labels, const LongTail& law) {
  return list(at::bincount(labels.index_select(0, thin(labels, law))));
}

uint32_t legacy_seed(const host::TensorFile& file) {
  return static_cast<uint32_t>(test::number(file, "numpy_legacy_seed"));
}

TEST_CASE("the exponential law reproduces the published CIFAR-100-LT subsets", "[parity]") {
  const auto file = test::find_vector("cifar_lt_indices");
  if (!file) return;
  const LongTail law{.law = file->metadata.at("type"), .seed = legacy_seed(*file)};
  const std::vector<std::string> ratios = test::endings(*file, "indices_R");
  CHECK_FALSE(ratios.empty());
  for (const std::string& ratio : ratios) {
    LongTail thinned = law;
    thinned.ratio = std::stod(ratio);
    CHECK(thin(file->at("labels"), thinned).equal(file->at("indices_R" + ratio)));
  }
}

TEST_CASE("the published class sizes given as counts choose the published subsets", "[parity]") {
  const auto file = test::find_vector("cifar_lt_indices");
  if (!file) return;
  const std::vector<std::string> ratios = test::endings(*file, "counts_R");
  CHECK_FALSE(ratios.empty());
  for (const std::string& ratio : ratios)
    CHECK(thin(file->at("labels"), {.law = "counts",
                                    .counts = list(file->at("counts_R" + ratio)),
                                    .seed = legacy_seed(*file)})
              .equal(file->at("indices_R" + ratio)));
}

TEST_CASE("class sizes follow the law") {
  const at::Tensor labels = balanced(4, 500);
  CHECK(counts(labels, {.law = "exp", .ratio = 64}) == Positions{500, 125, 31, 7});
  CHECK(counts(labels, {.law = "step", .ratio = 10}) == Positions{500, 500, 50, 50});
  // alpha = 1: n/(1 + 63·c/3)
  CHECK(counts(labels, {.law = "pareto", .ratio = 64}) == Positions{500, 22, 11, 7});
  // alpha = 2: n/√(1 + 24·c/3)
  CHECK(counts(labels, {.law = "pareto", .ratio = 5, .alpha = 2}) == Positions{500, 166, 121, 100});
  // alpha = ½: n/(1 + 3·c/3)²
  CHECK(counts(labels, {.law = "pareto", .ratio = 16, .alpha = 0.5}) ==
        Positions{500, 125, 55, 31});
  CHECK(counts(labels, {.law = "counts", .counts = {1, 500, 30, 7}}) == Positions{1, 500, 30, 7});
}

TEST_CASE("the Pareto law ends at n over ratio for every ratio and exponent") {
  for (const double alpha : {0.1, 0.3, 0.5, 1.0, 1.7, 3.0, 10.0})
    for (const int64_t smallest : {1, 3, 5, 7, 49, 100}) {
      const double ratio = 300.0 / static_cast<double>(smallest);
      const Positions sizes =
          counts(balanced(10, 300), {.law = "pareto", .ratio = ratio, .alpha = alpha});
      CAPTURE(alpha, smallest);
      CHECK(sizes.front() == 300);
      CHECK(std::abs(sizes.back() - 300.0 / ratio) < 1);
      if (std::floor(300.0 / ratio) == smallest) CHECK(sizes.back() == smallest);
      CHECK(std::is_sorted(sizes.rbegin(), sizes.rend()));
    }
}

TEST_CASE("a part of each class stays after the law, and at least one sample") {
  const at::Tensor labels = balanced(4, 500);
  const LongTail whole{.law = "exp", .ratio = 64};
  LongTail part = whole;
  part.keep = 0.1;
  CHECK(counts(labels, part) == Positions{50, 12, 3, 1});
  CHECK(counts(labels, {.law = "counts", .counts = {8, 4, 2, 1}, .keep = 0.5}) ==
        Positions{4, 2, 1, 1});
  // The first of those that the law keeps, whatever is left.
  const Positions all = list(thin(labels, whole)), some = list(thin(labels, part));
  CHECK(std::equal(some.begin(), some.begin() + 50, all.begin()));
  CHECK(std::equal(some.begin() + 50, some.begin() + 62, all.begin() + 500));
  for (const double wrong : {0.0, -0.5, 1.5, std::nan("")}) {
    part.keep = wrong;
    CHECK_THROWS_WITH(thin(labels, part), Contains("longtail.keep must be above 0"));
  }
}

TEST_CASE("sizes by the Pareto law have the survival function x^-alpha") {
  // The share of classes of at least x is linear in x^−alpha, from 0 at n to 1 at n/ratio.
  const int64_t classes = 400, n = 2000;
  const double ratio = 50, alpha = 1.5;
  const Positions sizes =
      counts(balanced(classes, n), {.law = "pareto", .ratio = ratio, .alpha = alpha});
  for (const double x : {50.0, 100.0, 300.0, 900.0, 1500.0}) {
    const auto larger =
        std::count_if(sizes.begin(), sizes.end(), [&](int64_t s) { return s >= x; });
    const double share = (std::pow(n / x, alpha) - 1) / (std::pow(ratio, alpha) - 1);
    CHECK(static_cast<double>(larger) / classes == Approx(share).margin(0.01));
  }
}

TEST_CASE("toward exponent zero the Pareto law becomes the exponential one") {
  const at::Tensor labels = balanced(12, 700);
  const Positions pareto = counts(labels, {.law = "pareto", .ratio = 90, .alpha = 1e-6});
  const Positions exp = counts(labels, {.law = "exp", .ratio = 90});
  for (std::size_t c = 0; c < exp.size(); ++c) CHECK(std::abs(pareto[c] - exp[c]) <= 1);
}

TEST_CASE("every law keeps the first of the same shuffle") {
  const at::Tensor labels = balanced(5, 40);
  const Positions all = list(thin(labels, {.law = "exp", .ratio = 1, .seed = 9}));
  for (const LongTail& law : {LongTail{.law = "exp", .ratio = 8, .seed = 9},
                              LongTail{.law = "step", .ratio = 8, .seed = 9},
                              LongTail{.law = "pareto", .ratio = 8, .alpha = 1.3, .seed = 9},
                              LongTail{.law = "counts", .counts = {3, 40, 1, 17, 5}, .seed = 9}}) {
    const Positions sizes = counts(labels, law);
    Positions expected;
    for (int64_t c = 0; c < 5; ++c)
      expected.insert(expected.end(), all.begin() + 40 * c, all.begin() + 40 * c + sizes[c]);
    CHECK(list(thin(labels, law)) == expected);
  }
}

TEST_CASE("ratio one keeps everything, in another order") {
  const at::Tensor labels = balanced(3, 7);
  for (const char* law : {"exp", "step", "pareto"}) {
    const at::Tensor chosen = thin(labels, {.law = law, .ratio = 1, .seed = 5});
    CHECK(std::get<0>(chosen.sort()).equal(at::arange(21, at::kLong)));
    CHECK_FALSE(chosen.equal(at::arange(21, at::kLong)));
  }
}

TEST_CASE("a class with less than the law gives keeps what it has") {
  const at::Tensor labels =
      at::cat({balanced(1, 100), at::full({4}, 1, at::kLong), at::full({100}, 2, at::kLong)});
  CHECK(counts(labels, {.law = "exp", .ratio = 4}) == Positions{100, 4, 25});
}

TEST_CASE("one class keeps all") {
  for (const char* law : {"exp", "step", "pareto"})
    CHECK(counts(balanced(1, 9), {.law = law, .ratio = 3}) == Positions{9});
}

TEST_CASE("a law that cannot be followed is refused with the reason") {
  const at::Tensor labels = balanced(4, 10);
  for (const char* law : {"exp", "step", "pareto"}) {
    CHECK_THROWS_WITH(thin(labels, {.law = law, .ratio = 100}), Contains("without samples"));
    CHECK_THROWS_WITH(thin(labels, {.law = law, .ratio = 0.5}), EndsWith("at least 1, got 0.5"));
    CHECK_THROWS_WITH(thin(labels, {.law = law, .ratio = std::nan("")}), Contains("at least 1"));
    CHECK_THROWS_WITH(thin(labels, {.law = law, .ratio = INFINITY}), Contains("at least 1"));
  }
  for (const double alpha : {0.0, -1.0, std::nan(""), 1e9})
    CHECK_THROWS_WITH(thin(labels, {.law = "pareto", .ratio = 2, .alpha = alpha}),
                      Contains("longtail.alpha must be above 0"));
  CHECK_THROWS_WITH(thin(labels, {.law = "zipf"}), Contains("got \"zipf\""));
  CHECK_THROWS_WITH(thin(labels.to(at::kFloat), {}), Contains("one class label a sample"));
  CHECK_THROWS_WITH(thin(labels - 1, {}), Contains("sample 0 has the negative label -1"));
}

TEST_CASE("counts that do not fit name class, count and what there is") {
  const at::Tensor labels = balanced(3, 10);
  CHECK_THROWS_WITH(thin(labels, {.law = "counts", .counts = {5, 5}}),
                    Contains("has 2 numbers") && Contains("3 classes"));
  CHECK_THROWS_WITH(thin(labels, {.law = "counts"}), Contains("has 0 numbers"));
  CHECK_THROWS_WITH(thin(labels, {.law = "counts", .counts = {5, 11, 5}}),
                    Contains("asks for 11 samples of class 1, which has 10"));
  CHECK_THROWS_WITH(thin(labels, {.law = "counts", .counts = {5, 5, 0}}),
                    Contains("asks for 0 samples of class 2") && Contains("at least 1"));
  CHECK_THROWS_AS(thin(labels, {.law = "counts", .counts = {5, -5, 1}}), Error);
}

// ---- lists in files -----------------------------------------------------------------------------

// What np.save writes: the header padded with spaces to a multiple of 64 bytes.
std::string npy(const std::string& header, std::string_view data, char version = 1) {
  const std::size_t width = version == 1 ? 2 : 4;
  std::string text = header;
  while ((8 + width + text.size() + 1) % 64) text += ' ';
  text += '\n';
  const auto length = static_cast<uint32_t>(text.size());
  std::string out = std::string("\x93NUMPY") + version + '\0';
  out.append(reinterpret_cast<const char*>(&length), width);
  return out.append(text).append(data);
}

template <class Integer>
std::string bytes_of(const std::vector<Integer>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Integer)};
}

std::string header(const std::string& descr, const std::string& shape,
                   const std::string& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
}

TEST_CASE("positions are read from text, JSON and NumPy files") {
  const test::TemporaryDirectory dir;
  const Positions expected = {7, 0, 41, 3};
  const std::string wide = bytes_of<int64_t>({7, 0, 41, 3});
  const auto reads = [&](const std::string& name, const std::string& content) {
    INFO(name);
    CHECK(read_index_file(dir.write(name, content), 42) == expected);
  };
  reads("plain.txt", "7\n0\n41\n3\n");
  reads("no-newline", "7\n0\n41\n3");
  reads("windows.txt", "7\r\n0\r\n\r\n 41\t\r\n3\r\n");
  reads("array.json", "[7, 0,\n 41, 3]");
  reads("data.json", R"({"samples": 4, "chosen": [7, 0, 41, 3]})");
  reads("wide.npy", npy(header("<i8", "(4,)"), wide));
  reads("narrow.npy", npy(header("<i4", "(4,)"), bytes_of<int32_t>({7, 0, 41, 3})));
  reads("version2.npy", npy(header("<i8", "(4,)"), wide, 2));
  reads("version3.npy", npy(header("<i8", "(4,)"), wide, 3));
  reads("python2.npy", npy(header("<i8", "(4L,)"), wide));
  reads("other-order.npy", npy("{\"shape\":(4,),\"fortran_order\":False,\"descr\":\"<i8\"}", wide));
}

TEST_CASE("the law \"file\" keeps a file's positions in its order and needs no classes") {
  const test::TemporaryDirectory dir;
  const auto file = dir.write("keep.txt", "5\n2\n9\n");
  for (const at::Tensor& labels : {balanced(2, 5), balanced(10, 4).view({10, 4}).to(at::kFloat)})
    CHECK(list(thin(labels, {.law = "file", .file = file})) == Positions{5, 2, 9});
  CHECK_THROWS_WITH(thin(balanced(1, 9), {.law = "file", .file = file}),
                    Contains("position 9 does not exist"));
}

TEST_CASE("what a run chose can be chosen again from a file") {
  const test::TemporaryDirectory dir;
  const at::Tensor labels = balanced(6, 50);
  const at::Tensor chosen = thin(labels, {.law = "exp", .ratio = 10, .seed = 3});
  const Positions positions = list(chosen);
  std::string text;
  for (const int64_t p : positions) text += std::to_string(p) + "\n";
  const std::string shape = std::string("(").append(std::to_string(positions.size())) + ",)";
  for (const auto& file : {dir.write("chosen", text),
                           dir.write("chosen.npy", npy(header("<i8", shape), bytes_of(positions)))})
    CHECK(thin(labels, {.law = "file", .file = file}).equal(chosen));
}

TEST_CASE("a list that cannot be used is refused with file and place") {
  const test::TemporaryDirectory dir;
  const auto refuses = [&](const std::string& name, const std::string& content,
                           const std::string& reason) {
    CHECK_THROWS_WITH(read_index_file(dir.write(name, content), 10),
                      Contains((dir / name).string()) && Contains(reason));
  };
  // Out of range.
  refuses("a.txt", "1\n\n10\n", "a.txt:3: position 10 does not exist; there are 10 samples");
  refuses("b.txt", "1\n-1\n", "b.txt:2: position -1 does not exist");
  refuses("a.json", "[1, 2, 10]", "entry 2 (from 0): position 10 does not exist");
  refuses("a.npy", npy(header("<i4", "(2,)"), bytes_of<int32_t>({3, -7})), "position -7");
  // Duplicates.
  refuses("c.txt", "4\n5\n4\n", "c.txt:3: position 4 is there already, at ");
  refuses("c.txt", "4\n5\n4\n", "c.txt:1");
  refuses("b.json", "[4, 4]", "entry 1 (from 0): position 4 is there already");
  // Empty.
  refuses("empty.txt", "", "lists no positions");
  refuses("blank.txt", " \n\n", "lists no positions");
  refuses("empty.json", "[]", "lists no positions");
  refuses("empty.npy", npy(header("<i8", "(0,)"), ""), "lists no positions");
  // Not integers.
  refuses("d.txt", "1\n2.5\n", "d.txt:2: expected an integer, got \"2.5\"");
  refuses("e.txt", "1 2\n", "e.txt:1: expected an integer, got \"1 2\"");
  refuses("f.txt", "99999999999999999999\n", "expected an integer");
  refuses("g.txt", std::string(90, 'x'), "got \"" + std::string(40, 'x') + "…\"");
  refuses("h.txt", "7\x7f\x93\xc3\xa9", "got \"7????\"");
  refuses("c.json", "[1, 2.0]", "entry 1 (from 0): expected an integer, got \"2.0\"");
  refuses("d.json", "[true]", "expected an integer, got \"true\"");
  refuses("e.json", "[18446744073709551615]", "expected an integer");
  refuses("f.json", R"({"kept": [1]})", "under the key \"chosen\"");
  refuses("g.json", R"({"chosen": 3})", "expected an array");
  refuses("h.json", "[1,\n2,\n", "h.json:3: this is not JSON");
  // NumPy arrays of another kind.
  const std::string eight(8, '\0');
  refuses("float.npy", npy(header("<f8", "(1,)"), eight), "got \"<f8\"");
  refuses("big.npy", npy(header(">i8", "(1,)"), eight), "got \">i8\"");
  refuses("unsigned.npy", npy(header("<u8", "(1,)"), eight), "got \"<u8\"");
  refuses("record.npy",
          npy("{'descr': [('a', '<i8')], 'fortran_order': False, 'shape': (1,), }", eight),
          "got \"('a', '<i8')\"");
  refuses("fortran.npy", npy(header("<i8", "(1,)", "True"), eight), "Fortran order");
  refuses("flat.npy", npy(header("<i8", "(1, 1)"), eight), "got shape (1, 1)");
  refuses("scalar.npy", npy(header("<i8", "()"), eight), "got shape ()");
  // Damage.
  refuses("short.npy", npy(header("<i8", "(2,)"), eight),
          "announces 2 numbers of 8 bytes; 8 bytes");
  refuses("long.npy", npy(header("<i8", "(1,)"), eight + "x"), "9 bytes follow");
  refuses("huge.npy", npy(header("<i8", "(2305843009213693953,)"), eight), "announces");
  refuses("text.npy", "1\n2\n", "no npy file");
  refuses("magic.npy", "\x93NUMPY", "no npy file");
  refuses("version.npy", npy(header("<i8", "(1,)"), eight, 4), "npy version 4");
  const std::string whole = npy(header("<i8", "(1,)"), eight);
  refuses("cut.npy", whole.substr(0, 60), "cut off");
  refuses("cut2.npy", npy(header("<i8", "(1,)"), eight, 2).substr(0, 11), "cut off");
  for (const char* text :
       {"", "{", "{'descr': '<i8'}", "{'descr': '<i8", "{'descr' '<i8'}", "{'other': 1}", "[]",
        "{'descr': '<i8', 'fortran_order': Maybe, 'shape': (1,)}",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (x,)}",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (1,"})
    refuses("damaged.npy", npy(text, eight), "header is damaged");
}

TEST_CASE("a list that is not there is missing data") {
  const test::TemporaryDirectory dir;
  for (const auto& file : {dir / "absent.npy", dir.path()}) try {
      read_index_file(file, 10);
      FAIL("nothing was thrown");
    } catch (const Error& error) {
      const bool there = file == dir.path();  // and no file
      CHECK(error.code() == (there ? ErrorCode::io : ErrorCode::missing_data));
      CHECK_THAT(error.what(), Contains(file.string()));
    }
}

// No cut or changed byte may do worse than a gh::Error.
TEST_CASE("damaged lists never do worse than be refused") {
  const test::TemporaryDirectory dir;
  const std::string sound = npy(header("<i8", "(3,)"), bytes_of<int64_t>({4, 5, 6}));
  std::mt19937 generator(1);
  int refused = 0;
  for (int i = 0; i < 400; ++i) {
    std::string damaged = sound.substr(0, i < 150 ? i : sound.size());
    if (i >= 150) damaged[generator() % damaged.size()] = static_cast<char>(generator());
    const auto file = dir.write(i % 5 ? "list.npy" : i % 2 ? "list.json" : "list.txt", damaged);
    try {
      const Positions read = read_index_file(file, 10);
      CHECK(read.size() <= 3);
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(refused > 200);
}

// ---- fingerprints -------------------------------------------------------------------------------

TEST_CASE("the fingerprint of a choice is the digest of its little-endian bytes") {
  // sha256sum of nothing, and of 01 00 … 00 ff … ff.
  CHECK(host::fingerprint_of(at::arange(0, at::kLong)) ==
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  const at::Tensor two = at::tensor({1, -1}, at::kLong);
  const std::string digest = host::fingerprint_of(two);
  CHECK(digest == "sha256:db0550d553e2a146e34164d19cd55f006c38d700d8f9a4e3ba2c889a1d7c26b2");
  // Strides do not matter, order does.
  CHECK(host::fingerprint_of(at::tensor({1, 7, -1, 7}, at::kLong).slice(0, 0, 4, 2)) == digest);
  CHECK(host::fingerprint_of(two.flip(0)) != digest);
  CHECK_THROWS_AS(host::fingerprint_of(two.to(at::kInt)), Error);
  CHECK_THROWS_AS(host::fingerprint_of(two.view({1, 2})), Error);
}

// That `thin` gives the published choice is what the parity vectors show.
TEST_CASE("the published CIFAR-100-LT subsets are known by name, however the samples lie") {
  const std::pair<std::string, std::string> expected[] = {
      {"100", "10,847"}, {"50", "12,608"}, {"10", "19,573"}};
  const at::Tensor sorted = balanced(100, 500);
  const at::Tensor mixed = sorted.index_select(0, at::arange(50000, at::kLong) * 7919 % 50000);
  for (const at::Tensor& labels : {sorted, mixed})
    for (const auto& [ratio, images] : expected) {
      const at::Tensor chosen = thin(labels, {.law = "exp", .ratio = std::stod(ratio)});
      CHECK(host::known_set(host::pattern_of(labels, chosen)) ==
            "the choice of CIFAR-100-LT with R = " + ratio + " published with GH: " + images +
                " images, by class and rank");
      CHECK(host::known_set(host::pattern_of(labels, chosen.slice(0, 1))).empty());
    }
  CHECK(host::known_set("").empty());
  CHECK(host::known_set("sha256:").empty());
}

// Fingerprint of a file in an archive.
std::string digest_in(const std::filesystem::path& archive, const std::string& member) {
  const std::string command = "tar -xJOf '" + archive.string() + "' " + member;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  REQUIRE(pipe);
  std::vector<char> buffer(1 << 16);
  Digest digest;
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe.get()))
    digest.add(std::string_view(buffer.data(), n));
  return "sha256:" + digest.hex();
}

std::filesystem::path archive(const std::string& name) {
  const std::filesystem::path file = test::data_dir() / name;
  if (std::filesystem::exists(file)) return file;
  std::cerr << "SKIPPED: " << name << " is not in ../shared/data\n";
  return {};
}

TEST_CASE("published lists of images are known by name", "[archives]") {
  const auto file = archive("longtail-splits.tar.xz");
  if (file.empty()) return;
  const std::pair<std::string, std::string> expected[] = {
      {"ImageNet_LT/ImageNet_LT_test.txt", "ImageNet-LT test, a list of 50,000 images"},
      {"ImageNet_LT/ImageNet_split1_test_100shot.txt",
       "ImageNet 100-shot train, split 1, a list of 100,000 images"},
      {"Places_LT/Places_LT_train.txt", "Places-LT train, a list of 62,500 images"},
      {"Places_LT/Places_split1_test_100shot.txt",
       "Places 100-shot train, split 1, a list of 36,500 images"},
      {"Places_LT/Places_val.txt", "Places365 validation, a list of 36,500 images"}};
  for (const auto& [member, sentence] : expected)
    CHECK(host::known_set(digest_in(file, "splits/" + member)) == sentence);
}

}  // namespace
