#include "support/places.hpp"
#include "support/plugin_fixture.hpp"
#include "support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

namespace {

using namespace gh;
using Catch::Contains;
using test::TemporaryDirectory;
using Names = std::vector<std::string>;
using Parts = std::initializer_list<std::string>;

class KeptFile final : public SampleSink {
 public:
  void vector(std::span<const float>) override { FAIL("a vector"); }
  void pixels(std::span<const uint8_t>, int64_t, int64_t, int64_t) override { FAIL("pixels"); }
  void encoded(std::span<const uint8_t> bytes, std::string_view origin) override {
    content.assign(bytes.begin(), bytes.end());
    from = origin;
  }
  std::string content, from;
};

test::Loaded<Dataset> folder(const TemporaryDirectory& dir, const std::string& more = "") {
  return test::load<Dataset>("image_folder", "root = '" + dir.path().string() + "'\n" + more);
}
test::Loaded<Dataset> list(const TemporaryDirectory& dir, const std::string& more = "") {
  return test::load<Dataset>("image_list", "root = '" + (dir / "images").string() + "'\ntrain = '" +
                                               (dir / "train.txt").string() + "'\n" + more);
}
test::Loaded<Dataset> table(const TemporaryDirectory& dir, const std::string& more = "") {
  return test::load<Dataset>("image_table", "root = '" + (dir / "images").string() +
                                                "'\ntable = '" + (dir / "t.csv").string() + "'\n" +
                                                more);
}
std::string option(const std::string& name, const std::filesystem::path& file) {
  return name + " = '" + file.string() + "'\n";
}

void expect_failure(const test::Loaded<Dataset>& dataset, const std::string& split, ErrorCode code,
                    Parts parts) {
  try {
    dataset->open(split, 0);
    FAIL("opened " << split);
  } catch (const Error& e) {
    INFO(e.what());
    CHECK(e.code() == code);
    for (const std::string& part : parts) CHECK_THAT(e.what(), Contains(part));
  }
}

// Every sample as "path below root:label".
Names listed(const Split& split, const std::filesystem::path& root) {
  Names out;
  for (int64_t i = 0; i < split.size(); ++i) {
    KeptFile sink;
    split.read(i, sink);
    std::ostringstream line;
    line << std::filesystem::path(sink.from).lexically_relative(root).string() << ":"
         << split.targets()[i].item<double>();
    out.push_back(line.str());
  }
  return out;
}

// What a data set says while it opens a split, and whether it goes on without what is missing.
class Heard final : public Notices {
 public:
  explicit Heard(bool tolerant = false) : tolerant_(tolerant) {}
  void say(Severity severity, std::string_view message) override {
    if (severity == Severity::warning) warnings.emplace_back(message);
    all += std::string(message) + "\n";
  }
  void missing(std::string_view message) override {
    if (!tolerant_) Notices::missing(message);
    warnings.emplace_back(message);
  }
  Names warnings;
  std::string all;

 private:
  bool tolerant_;
};

std::unique_ptr<Split> open_heard(const test::Loaded<Dataset>& dataset, const std::string& split,
                                  Heard& heard) {
  auto* speaking = static_cast<SpeakingDataset*>(dataset->query(SpeakingDataset::kId));
  REQUIRE(speaking != nullptr);
  return speaking->open(split, 0, heard);
}

TEST_CASE("image_folder counts what it leaves out, by ending, and hidden names") {
  TemporaryDirectory dir;
  dir.write("train/a/1.jpg", "1");
  dir.write("train/a/2.JPEG", "2");
  dir.write("train/a/deep/3.webp", "x");
  dir.write("train/b/4.WEBP", "x");
  dir.write("train/b/5.png", "3");
  dir.write("train/b/README", "x");
  dir.write("train/labels.txt", "x");
  dir.write("train/b/.DS_Store", "x");
  dir.write("train/.cache/a.jpg", "x");
  dir.write("test/a/1.jpg", "1");
  auto dataset = folder(dir);
  Heard heard, clean;
  CHECK(open_heard(dataset, "train", heard)->size() == 3);
  REQUIRE(heard.warnings.size() == 1);
  CHECK_THAT(heard.warnings[0], Contains("split 'train': 4 of 7 files") &&
                                    Contains("2 .webp, 1 without one, 1 .txt") &&
                                    Contains("jpg, jpeg, png"));
  CHECK_THAT(heard.all, Contains("2 hidden"));
  CHECK_THAT(heard.all, Contains("sizes of the files, not of what is in them"));
  CHECK(open_heard(dataset, "test", clean)->size() == 1);
  CHECK(clean.warnings.empty());
}

TEST_CASE("image_folder enters each directory once, whatever links lead to it") {
  namespace fs = std::filesystem;
  TemporaryDirectory dir;
  dir.write("train/a/1.jpg", "1");
  dir.write("train/a/deep/2.jpg", "2");
  dir.write("train/b/3.jpg", "3");
  dir.write("elsewhere/c/4.jpg", "4");
  dir.write("elsewhere/more/5.jpg", "5");
  fs::create_directory_symlink(dir / "elsewhere/c", dir / "train/c");  // a class that is a link
  fs::create_directory_symlink(dir / "elsewhere/more", dir / "train/a/more");
  fs::create_symlink(dir / "elsewhere/more/5.jpg", dir / "train/b/6.jpg");  // an image that is one
  auto dataset = folder(dir);
  const Names samples = {"train/a/1.jpg:0", "train/a/deep/2.jpg:0", "train/a/more/5.jpg:0",
                         "train/b/3.jpg:1", "train/b/6.jpg:1",      "train/c/4.jpg:2"};
  Heard before;
  const auto split = open_heard(dataset, "train", before);
  CHECK(listed(*split, dir.path()) == samples);
  CHECK(before.warnings.empty());
  const std::string fingerprint = split->fingerprint();

  fs::create_directory_symlink("..", dir / "train/a/deep/up");
  fs::create_directory_symlink(dir / "train", dir / "train/loop");
  fs::create_directory_symlink(dir / "train/b", dir / "train/a/other");
  fs::create_directory_symlink(dir / "train/a", dir / "train/b/round");
  fs::create_directory_symlink(dir.path(), dir / "elsewhere/more/root");
  fs::create_directory_symlink(dir / "train/a/deep", dir / "train/a/0");
  Heard heard;
  const auto looped = open_heard(dataset, "train", heard);
  CHECK(looped->class_names() == Names{"a", "b", "c"});
  CHECK(listed(*looped, dir.path()) == samples);
  CHECK(looped->fingerprint() == fingerprint);
  REQUIRE(heard.warnings.size() == 1);
  CHECK_THAT(heard.warnings[0], Contains("6 links") && Contains("'train/loop'"));
}

TEST_CASE("image_files cover the bytes of files by their fingerprint where that is asked for") {
  TemporaryDirectory dir;
  const auto prints = [&](const std::string& more) {
    return Names{folder(dir, more)->open("train", 0)->fingerprint(),
                 list(dir, more)->open("train", 0)->fingerprint(),
                 table(dir, more)->open("train", 0)->fingerprint()};
  };
  dir.write("train/a/1.jpg", "ab");
  dir.write("images/1.jpg", "ab");
  dir.write("train.txt", "1.jpg 0\n");
  dir.write("t.csv", "path,age,split\n1.jpg,3,train\n");
  const Names names = prints(""), bytes = prints("fingerprint = 'content'");
  dir.write("train/a/1.jpg", "cd");
  dir.write("images/1.jpg", "cd");
  CHECK(prints("") == names);
  const Names changed = prints("fingerprint = 'content'");
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK_THAT(names[i], Catch::StartsWith("sha256:"));
    CHECK_THAT(bytes[i], Catch::StartsWith("sha256-of-contents:"));
    CHECK(changed[i] != bytes[i]);
  }
  dir.write("train/a/1.jpg", "ab");
  CHECK(prints("fingerprint = 'content'")[0] == bytes[0]);
}

TEST_CASE("image_list and image_table open without files that are not there where that is wanted") {
  TemporaryDirectory dir;
  dir.write("images/1.jpg", "1");
  dir.write("train.txt", "1.jpg 0\ngone.jpg 1\n");
  dir.write("t.csv", "path,age,split\n1.jpg,3,train\ngone.jpg,4,train\n");
  const auto opens = [](const test::Loaded<Dataset>& dataset) {
    Heard strict, tolerant(true);
    CHECK_THROWS_WITH(open_heard(dataset, "train", strict), Contains("1 of 2 files"));
    const auto split = open_heard(dataset, "train", tolerant);
    CHECK(tolerant.warnings.size() == 1);
    CHECK(split->size() == 2);
    CHECK_FALSE(split->fingerprint().empty());
    KeptFile sink;
    split->read(0, sink);
    CHECK_THROWS_WITH(split->read(1, sink), Contains("gone.jpg"));
  };
  opens(list(dir));
  opens(table(dir));
}

TEST_CASE("image_folder sorts classes and files, looks below class directories and at endings") {
  TemporaryDirectory dir;
  dir.write("train/dog/b.JPG", "3");
  dir.write("train/dog/a.png", "2");
  dir.write("train/dog/notes.txt", "x");
  dir.write("train/dog/.hidden.jpg", "x");
  dir.write("train/cat/deep/er/z.jpeg", "1");
  dir.write("train/cat/a.gif", "x");
  dir.write("train/.cache/a.jpg", "x");
  dir.write("val/dog/c.jpg", "4");
  auto dataset = folder(dir);
  CHECK(dataset->splits() == Names{"train", "test"});
  const auto train = dataset->open("train", 0), test = dataset->open("test", 0);
  CHECK(train->class_names() == Names{"cat", "dog"});
  CHECK(train->target_kind() == TargetKind::classes);
  CHECK(train->sample_shape().empty());
  CHECK(listed(*train, dir.path()) ==
        Names{"train/cat/deep/er/z.jpeg:0", "train/dog/a.png:1", "train/dog/b.JPG:1"});
  CHECK(listed(*test, dir.path()) == Names{"val/dog/c.jpg:1"});
  CHECK(test->class_names() == Names{"cat", "dog"});
  auto gifs = folder(dir, "extensions = ['.GIF', 'png']");
  CHECK(listed(*gifs->open("train", 0), dir.path()) ==
        Names{"train/cat/a.gif:0", "train/dog/a.png:1"});
  auto renamed = folder(dir, "train = 'val'\ntest = 'val'");
  CHECK(renamed->open("test", 0)->class_names() == Names{"dog"});
  std::filesystem::create_directories(dir / "test/dog");
  dir.write("test/dog/t.jpg", "5");
  CHECK(listed(*dataset->open("test", 0), dir.path()) == Names{"test/dog/t.jpg:1"});
}

TEST_CASE("image_folder has paths, labels and sizes in its fingerprint") {
  TemporaryDirectory dir;
  dir.write("train/dog/2.png", "abc");
  dir.write("train/cat/1.jpg", "ab");
  auto dataset = folder(dir);
  const auto split = dataset->open("train", 0);
  std::string other;
  std::thread thread([&] { other = split->fingerprint(); });
  CHECK(split->fingerprint() ==
        "sha256:fac90fa632af234728026c6f0fb0b4def6dc611e106c59df0d51d8a7dd8fd1ec");
  thread.join();
  CHECK(split->fingerprint() == other);
  dir.write("train/dog/2.png", "abcd");
  CHECK(dataset->open("train", 0)->fingerprint() != other);
}

TEST_CASE("image_folder says which layout it expected and what it found") {
  TemporaryDirectory dir;
  const std::string layout = dir.path().string() + "/train/<class>/*.jpg";
  auto dataset = folder(dir);
  expect_failure(dataset, "train", ErrorCode::missing_data, {"no directory 'train'", layout});
  expect_failure(dataset, "validation", ErrorCode::missing_data, {"train and test"});
  CHECK(dataset->splits() == Names{"train"});

  dir.write("a.jpg", "x");
  expect_failure(dataset, "train", ErrorCode::missing_data, {"holds images, 'a.jpg'", layout});
  std::filesystem::create_directories(dir / "training/cat");
  std::filesystem::remove(dir / "a.jpg");
  expect_failure(dataset, "train", ErrorCode::missing_data,
                 {"the directories 'training'", "`train`", layout});
  dir.write("cat/1.jpg", "x");
  dir.write("dog/1.jpg", "x");
  expect_failure(dataset, "train", ErrorCode::missing_data,
                 {"class directories, 'cat', 'dog'", "without a directory of the split", layout});
  std::filesystem::create_directories(dir / "train");
  expect_failure(dataset, "train", ErrorCode::missing_data, {"no class directories", layout});
  dir.write("train/1.jpg", "x");
  expect_failure(dataset, "train", ErrorCode::io, {"holds images directly ('1.jpg')", layout});
  std::filesystem::remove(dir / "train/1.jpg");
  dir.write("train/cat/1.jpg", "x");
  expect_failure(dataset, "test", ErrorCode::missing_data, {"neither a 'test' nor a 'val'"});
}

TEST_CASE("image_folder names empty and unknown classes") {
  TemporaryDirectory dir;
  dir.write("train/cat/1.jpg", "x");
  dir.write("train/dog/readme.txt", "x");
  std::filesystem::create_directories(dir / "train/elk");
  auto dataset = folder(dir);
  expect_failure(dataset, "train", ErrorCode::io, {"without an image", "'dog', 'elk'", "'jpg'"});
  dir.write("train/dog/1.jpg", "x");
  dir.write("train/elk/1.jpg", "x");
  for (const char* name : {"ant", "bee", "cow", "fox", "hen"})
    dir.write(std::string("test/") + name + "/1.jpg", "x");
  expect_failure(dataset, "test", ErrorCode::io, {"does not have: 'ant', 'bee', 'cow' and 2 more"});
}

TEST_CASE("image_files say what is wrong with root") {
  TemporaryDirectory dir;
  dir.write("images", "a file");
  dir.write("train.txt", "a.jpg 0\n");
  dir.write("t.csv", "age,path,split\n1,a.jpg,train\n");
  expect_failure(list(dir), "train", ErrorCode::invalid_param, {"images is not a directory"});
  expect_failure(table(dir), "train", ErrorCode::invalid_param, {"images is not a directory"});
  auto file = test::load<Dataset>("image_folder", option("root", dir / "images"));
  expect_failure(file, "train", ErrorCode::invalid_param, {"images is not a directory"});
  std::filesystem::remove(dir / "images");
  const Parts missing = {(dir / "images").string() + " does not exist; set root to"};
  expect_failure(list(dir), "train", ErrorCode::missing_data, missing);
  expect_failure(table(dir), "train", ErrorCode::missing_data, missing);
  expect_failure(file, "train", ErrorCode::missing_data, missing);
}

TEST_CASE("image_files read whole files and name those they cannot read") {
  TemporaryDirectory dir;
  std::string content(300000, '\0');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * i >> 3);
  dir.write("train/cat/big.jpg", content);
  dir.write("train/cat/empty.jpg", "");
  dir.write("train/cat/gone.jpg", "x");
  auto dataset = folder(dir);
  const auto split = dataset->open("train", 0);
  KeptFile sink;
  split->read(0, sink);
  CHECK(sink.content == content);
  CHECK(sink.from == (dir / "train/cat/big.jpg").string());
  std::filesystem::remove(dir / "train/cat/gone.jpg");
  const auto reason = [&](int64_t i, ErrorCode code) -> std::string {
    try {
      split->read(i, sink);
    } catch (const Error& e) {
      CHECK(e.code() == code);
      return e.what();
    }
    return "";
  };
  CHECK(reason(1, ErrorCode::io) ==
        (dir / "train/cat/empty.jpg").string() + " is empty; expected an image");
  CHECK(reason(2, ErrorCode::missing_data) ==
        (dir / "train/cat/gone.jpg").string() + " is not there: No such file or directory");
  CHECK_FALSE(split->fingerprint().empty());
}

TEST_CASE("image_list reads paths with spaces, CRLF, blank lines and a byte order mark") {
  TemporaryDirectory dir;
  dir.write("images/a/1.jpg", "x");
  dir.write("images/a/b c.jpg", "y");
  dir.write("train.txt",
            "\xEF\xBB\xBF"
            "a/1.jpg 0\r\n\r\n  a/b c.jpg\t 1  \r\n \n");
  dir.write("clean.txt", "a/1.jpg 0\na/b c.jpg 1\n");
  dir.write("shots.txt", "a/b c.jpg 1");
  dir.write("classes.txt", "first\r\nsecond one\r\n\r\n");
  auto dataset = list(dir, option("test", dir / "clean.txt") + option("shots", dir / "shots.txt") +
                               option("classes", dir / "classes.txt"));
  CHECK(dataset->splits() == Names{"train", "test", "shots"});
  const auto train = dataset->open("train", 0);
  CHECK(train->sample_shape().empty());
  CHECK(train->target_kind() == TargetKind::classes);
  CHECK(train->class_names() == Names{"first", "second one"});
  CHECK(listed(*train, dir / "images") == Names{"a/1.jpg:0", "a/b c.jpg:1"});
  CHECK(listed(*dataset->open("shots", 0), dir / "images") == Names{"a/b c.jpg:1"});
  // What sha256sum prints for clean.txt, whatever the images hold.
  const std::string digest =
      "sha256:bfd34f3fffd59169909b5c1abe212b99c2704ad54d686064586dc33a7c0bc0ac";
  CHECK(train->fingerprint() == digest);
  dir.write("images/a/1.jpg", "longer");
  CHECK(dataset->open("test", 0)->fingerprint() == digest);
  CHECK(list(dir)->splits() == Names{"train"});
  CHECK(list(dir)->open("train", 0)->class_names().empty());
  expect_failure(list(dir), "shots", ErrorCode::missing_data, {"no split 'shots'"});
}

TEST_CASE("image_list names file and line of what is wrong") {
  TemporaryDirectory dir;
  dir.write("images/a.jpg", "x");
  dir.write("images/b.jpg", "x");
  dir.write("classes.txt", "one\ntwo\n");
  const std::string file = (dir / "train.txt").string();
  const auto refuses = [&](const char* text, Parts parts, const std::string& more = "") {
    dir.write("train.txt", text);
    expect_failure(list(dir, more), "train", ErrorCode::io, parts);
  };
  refuses("a.jpg 0\n\nb.jpg\n", {file + ", line 3: expected 'relative/path label'", "'b.jpg'"});
  refuses("a.jpg zero\n", {file + ", line 1: the label 'zero' is not a whole number"});
  refuses("a.jpg 1.5\n", {"the label '1.5' is not"});
  refuses("a.jpg 99999999999999999999\n", {"line 1: the label '99999999999999999999' is not"});
  refuses("a.jpg 0\nb.jpg -1\n", {file + ", line 2: the label -1 is negative"});
  refuses("a.jpg 0\nb.jpg 1\na.jpg 1\n", {file + ", line 3: a.jpg has the label 1", "line 1", "0"});
  refuses("/etc/a.jpg 0\n", {file + ", line 1: the path '/etc/a.jpg' leaves root"});
  refuses("x/../../a.jpg 0\n", {"line 1: the path 'x/../../a.jpg' leaves root"});
  refuses("a.jpg 0\nb.jpg 2\n", {file + ", line 2: the label 2 is beyond the 2 classes of"},
          option("classes", dir / "classes.txt"));
  refuses("a.jpg 0\n", {"1 of 2 classes have no training sample: label 1"},
          option("classes", dir / "classes.txt"));
  refuses("a.jpg 1\nb.jpg 9\n", {"8 of 10 classes have no", "label 0, 2, 3, 4, 5, …"});
  refuses("a.jpg 9000000000000000\n", {"label 0, 1, 2, 3, 4, …"});
  refuses("\n \n", {file + " names no images"});
  dir.write("classes.txt", "one\n\ntwo\n");
  refuses("a.jpg 0\n", {"classes.txt, line 2: expected a class name"},
          option("classes", dir / "classes.txt"));
  dir.write("classes.txt", "\n");
  refuses("a.jpg 0\n", {"classes.txt holds no class names"},
          option("classes", dir / "classes.txt"));
}

TEST_CASE("image_list checks other splits against the classes of training") {
  TemporaryDirectory dir;
  dir.write("images/a.jpg", "x");
  dir.write("train.txt", "a.jpg 0\na.jpg 0\nx/.././a.jpg 1\n");
  dir.write("test.txt", "a.jpg 1\n");
  dir.write("images/x/b.jpg", "x");
  auto dataset = list(dir, option("test", dir / "test.txt"));
  CHECK(dataset->open("train", 0)->size() == 3);  // the same image twice is no mistake
  CHECK(dataset->open("test", 0)->size() == 1);
  dir.write("test.txt", "a.jpg 2\n");
  expect_failure(dataset, "test", ErrorCode::io, {"test.txt, line 1: the label 2", "train.txt"});
}

TEST_CASE("image_list says which files are not there and guesses why") {
  TemporaryDirectory dir;
  dir.write("images/train/n01/a.jpg", "x");
  dir.write("images/val/b.jpg", "x");
  std::filesystem::create_directories(dir / "images/train/n01/c.jpg");
  const std::string file = (dir / "train.txt").string();
  const auto refuses = [&](const char* text, Parts parts) {
    dir.write("train.txt", text);
    expect_failure(list(dir), "train", ErrorCode::missing_data, parts);
  };
  refuses("train/n01/a.jpg 0\ntrain/n01/z.jpg 0\ntrain/n02/y.jpg 0\n",
          {"2 of 3 files of " + file + " are not under root " + (dir / "images").string() +
           "; the first: train/n01/z.jpg"});
  refuses("train/n01/c.jpg 0\n", {"1 of 1 files", "the first: train/n01/c.jpg"});
  refuses("places/n01/a.jpg 0\n", {"there is no " + (dir / "images/places").string()});
  refuses("val/n01/b.jpg 0\n", {"val/b.jpg exists", "class directories", "ImageNet's val"});
  refuses("a.jpg 0\n", {"1 of 1 files", "the first: a.jpg"});
}

TEST_CASE("image_list and image_table say what is wrong with their text files") {
  TemporaryDirectory dir;
  std::filesystem::create_directories(dir / "images");
  expect_failure(list(dir), "train", ErrorCode::missing_data,
                 {"the list of train, " + (dir / "train.txt").string() + ", does not exist"});
  expect_failure(table(dir), "train", ErrorCode::missing_data, {"the table, ", "does not exist"});
  std::filesystem::create_directories(dir / "train.txt");
  std::filesystem::create_directories(dir / "t.csv");
  expect_failure(list(dir), "train", ErrorCode::invalid_param, {"is a directory"});
  expect_failure(table(dir), "train", ErrorCode::invalid_param, {"is a directory"});
}

TEST_CASE("image_table reads quotes, commas, line breaks and CRLF as RFC 4180 has them") {
  TemporaryDirectory dir;
  for (const char* name : {"a.jpg", "b, \"c\".jpg", "line\nbreak.jpg", "v.jpg"})
    dir.write(std::string("images/") + name, "x");
  dir.write("t.csv",
            "\xEF\xBB\xBF"
            "note,age,\"path\",split\r\n"
            "\"\",20.5,a.jpg,train\r\n"
            "\r\n"
            ",-1e-3,v.jpg,val\r\n"
            "\"two\r\nlines\", 31 ,\"b, \"\"c\"\".jpg\",train\r\n"
            "x,7,\"line\nbreak.jpg\",\"train\"\r");
  auto dataset = table(dir);
  CHECK(dataset->splits() == Names{"train", "val"});
  const auto train = dataset->open("train", 0);
  CHECK(train->target_kind() == TargetKind::real);
  CHECK(train->targets().scalar_type() == at::kDouble);
  CHECK(train->sample_shape().empty());
  CHECK(listed(*train, dir / "images") ==
        Names{"a.jpg:20.5", "b, \"c\".jpg:31", "line\nbreak.jpg:7"});
  CHECK(listed(*dataset->open("val", 0), dir / "images") == Names{"v.jpg:-0.001"});
  expect_failure(dataset, "test", ErrorCode::missing_data, {"no split 'test'", "train, val"});
}

TEST_CASE("image_table has paths, targets and sizes in its fingerprint") {
  TemporaryDirectory dir;
  dir.write("images/a.jpg", "x");
  dir.write("images/b.jpg", "xy");
  dir.write("t.csv", "file,years,part\na.jpg,20.50,train\nb.jpg,31,train\n");
  auto dataset = table(dir, "path_column = 'file'\ntarget_column = 'years'\nsplit_column = 'part'");
  CHECK(dataset->open("train", 0)->fingerprint() ==
        "sha256:252bf6dfbbda9a67e2890195351291af629d7f74a2e044673413ddbe4bc7cc6a");
}

TEST_CASE("image_table names file and line of what is wrong") {
  TemporaryDirectory dir;
  dir.write("images/a.jpg", "x");
  const std::string file = (dir / "t.csv").string(), header = "age,path,split\n";
  const auto refuses = [&](const std::string& text, ErrorCode code, Parts parts) {
    dir.write("t.csv", text);
    expect_failure(table(dir), "train", code, parts);
  };
  refuses("", ErrorCode::io, {file + " is empty"});
  refuses("age,file,split\n", ErrorCode::invalid_param,
          {file + ", line 1: expected one column 'path', found 0", "age, file, split"});
  refuses("age,path,split,age\n", ErrorCode::invalid_param, {"one column 'age', found 2"});
  refuses(header, ErrorCode::missing_data, {"no row of the split 'train'", "no rows"});
  refuses(header + "1,a.jpg,test\n", ErrorCode::missing_data, {"'train'", "found: test"});
  refuses(header + "\n1,a.jpg\n", ErrorCode::io, {file + ", line 3: expected 3 fields", "found 2"});
  refuses(header + "\"1\n\",a.jpg,train\n", ErrorCode::io, {"line 2: the target '1\n' is not"});
  for (const char* bad : {"old", "nan", "inf", "-inf", "1e999", "", "1 2", "0x10"})
    refuses(header + "1,a.jpg,train\n" + bad + ",a.jpg,train\n", ErrorCode::io,
            {file + ", line 3: the target '" + bad + "' is not a finite number"});
  refuses(header + "1,\"a\nb.jpg\",train\nold,a.jpg,train\n", ErrorCode::io,
          {"line 4: the target"});
  refuses(header + "1,a.jpg,\n", ErrorCode::io, {"line 2: the split is empty"});
  refuses(header + "1,,train\n", ErrorCode::io, {"line 2: the path ''"});
  refuses(header + "1,../a.jpg,train\n", ErrorCode::io, {"line 2: the path '../a.jpg'"});
  refuses(header + "1,\"a.jpg,train\n\n", ErrorCode::io, {"line 2: a quote is never closed"});
  refuses(header + "1,\"a.jpg\"x,train\n", ErrorCode::io, {"line 2: text after a closing quote"});
  refuses(header + "1,a\"b.jpg,train\n", ErrorCode::io, {"line 2: a quote inside a field"});
  refuses(header + "1,b.jpg,train\n", ErrorCode::missing_data, {"1 of 1 files of " + file});
  std::string many = header;
  for (int i = 0; i < 101; ++i) many += "1,a.jpg," + std::to_string(i) + "\n";
  refuses(many, ErrorCode::invalid_param, {"line 102", "more than 100 different values"});
}

// The published list without its images: it is read and checked as a whole before the files are
// looked for.
TEST_CASE("image_list reads the published list of Places-LT") {
  const std::filesystem::path place = test::data_dir();
  const auto archive = place / "longtail-splits.tar.xz";
  if (!std::filesystem::exists(archive)) {
    std::cerr << "SKIPPED: " << archive << " is not here; set GH_DATA\n";
    return;
  }
  TemporaryDirectory dir;
  const std::string unpack = "tar -xf '" + archive.string() + "' -C '" + dir.path().string() +
                             "' splits/Places_LT/Places_LT_train.txt";
  REQUIRE(std::system(unpack.c_str()) == 0);
  std::filesystem::rename(dir / "splits/Places_LT/Places_LT_train.txt", dir / "train.txt");
  std::filesystem::create_directories(dir / "images");
  const auto with_classes = [&](int count) {
    std::string names;
    for (int i = 0; i < count; ++i) names += std::to_string(i) + "\n";
    return list(dir, option("classes", dir.write("classes.txt", names)));
  };
  const std::string first = "the first: train/airfield/00004851.jpg; there is no ";
  expect_failure(list(dir), "train", ErrorCode::missing_data, {"62500 of 62500 files", first});
  expect_failure(with_classes(365), "train", ErrorCode::missing_data, {"62500 of 62500 files"});
  expect_failure(with_classes(364), "train", ErrorCode::io, {"the label 364 is beyond the 364"});
  expect_failure(with_classes(366), "train", ErrorCode::io, {"1 of 366 classes", "label 365"});
  // With one of its images, the first line makes a data set of one sample.
  std::ifstream lines(dir / "train.txt");
  std::string line;
  std::getline(lines, line);
  dir.write("train.txt", line + "\n");
  dir.write("images/train/airfield/00004851.jpg", "x");
  CHECK(listed(*list(dir)->open("train", 0), dir / "images") ==
        Names{"train/airfield/00004851.jpg:0"});
}

}  // namespace
