// Recipes with mistakes: each is found, all at once, where it stands.
#include "recipe_fixture.hpp"

#include <algorithm>

using namespace gh::host;
using namespace gh::host::test;
using Catch::Contains;

namespace {

// kMinimal or kFull with one piece of text exchanged.
std::string changed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("all mistakes of a recipe are reported at once, each with its place") {
  const Loaded loaded = load(R"(sede = 1
seed = -1
[data]
id = "toy"
samples = "many"
longtail = { law = "expo", ratio = 0.5 }
[backbone]
id = "resnet"
widths = "whatever"
[method]
id = "barlow"
temperature = 0.2
[harmonize]
warm_up = 30
momentum = 1.0
structure = { id = "etf" }
[train]
epochs = 20
optimizer = { id = "sgd", lr = 0 }
schedule = { id = "cosin" }
when = 1979-05-27
[[eval]]
id = "knn"
when = ["never"]
[tarin]
)");
  struct Expected {
    int line, column;
    std::string key, message;
  };
  const std::vector<Expected> expected{
      {1, 1, "sede", "did you mean 'seed'?"},
      {2, 8, "seed", "expected an integer ≥ 0, got -1"},
      {5, 11, "data.samples", "expected an integer ≥ 1, got the string \"many\""},
      {6, 20, "data.longtail.law", "did you mean \"exp\"?"},
      {6, 36, "data.longtail.ratio", "expected a number ≥ 1, got 0.5"},
      {8, 6, "backbone.id", "nobody provides 'resnet'"},
      {12, 1, "method.temperature", "unknown key of ssl 'barlow'; its keys are: id, lambda, note"},
      {14, 11, "harmonize.warm_up", "expected less than train.epochs = 20, got 30"},
      {15, 12, "harmonize.momentum", "expected a number ≥ 0 and < 1 (per epoch), got 1.0"},
      {16, 13, "harmonize.structure.points", "missing; expected an integer ≥ 2"},
      {13, 1, "harmonize.allocator", "missing table"},
      {17, 1, "train.batch", "missing; expected an integer in 1 … 1048576"},
      {19, 32, "train.optimizer.lr", "expected a number > 0, got 0"},
      {20, 19, "train.schedule.id", "did you mean \"cosine\"?"},
      {21, 8, "train.when", "no recipe key takes a date"},
      {21, 1, "train.when", "unknown key of [train]"},
      {24, 9, "eval.0.when.0", "expected one of start, warm-up, end"},
      {25, 2, "tarin", "unknown table of the recipe; did you mean 'train'?"},
  };
  INFO(summary(loaded.out));
  for (const Expected& e : expected) {
    CAPTURE(e.line, e.column, e.key, e.message);
    CHECK(std::count_if(loaded.out.all().begin(), loaded.out.all().end(), [&](const Diagnostic& d) {
            return d.source.line == e.line && d.source.column == e.column && d.key == e.key &&
                   d.message.find(e.message) != std::string::npos;
          }) == 1);
  }
  CHECK(loaded.out.all().size() == expected.size());
}

TEST_CASE("one mistake gives one message") {
  struct Case {
    std::string from, to, key, message;
  };
  const auto [from, to, key, message] = GENERATE(values<Case>({
      {"[method]\nid = \"simclr\"", "[method]", "method.id",
       "missing; expected a string: which ssl"},
      {"[method]\nid = \"simclr\"", "[method]\nid = 5", "method.id", "expected a string, got 5"},
      {"[method]\nid = \"simclr\"", "[method]\nid = \"\"", "method.id", "nobody provides ''"},
      {"[method]\nid = \"simclr\"\n", "", "method", "missing table"},
      {"[method]\nid = \"simclr\"", "[method]\nid = \"mlp\"", "method.id", "nobody provides"},
      {"id = \"toy\"", "id = \"greedy\"", "data.id",
       "dataset 'greedy' declares a parameter 'longtail', but that key is the host's"},
      {"id = \"toy\"", "id = \"toy\"\nlongtail = {}", "data.longtail.ratio",
       "missing; law \"exp\" needs it"},
      {"id = \"toy\"", "id = \"toy\"\nlongtail = { law = \"file\", file = \"a\", keep = 0.5 }",
       "data.longtail.keep", "keeps what the file names"},
      {"id = \"toy\"", "id = \"toy\"\nlongtail = 100", "data.longtail",
       "expected a table, got 100"},
      {"[data]", "harmonize = 1\n[data]", "harmonize", "expected a table, got an integer"},
      {"[data]", "eval = { id = \"knn\" }\n[data]", "eval",
       "expected a list of tables, got a table; write [[eval]]"},
      {"[data]", "eval = 1979-05-27\n[data]", "eval", "no recipe key takes a date"},
      {"[data]", "harmonize = 07:32:00\n[data]", "harmonize", "no recipe key takes a date"},
      {"epochs = 20", "epochs = 1979-05-27", "train.epochs", "no recipe key takes a date"},
      {"[data]", "eval = [1]\n[data]", "eval.0", "expected a table, got an integer"},
      {"[data]", "name = \"\"\n[data]", "name", "expected a name"},
      {"[data]", "name = 5\n[data]", "name", "expected a string, got 5"},
      {"[data]", "seed = 1.0\n[data]", "seed", "write 1"},
      {"[data]", "[views]\ncount = 65\n[data]", "views.group.0.count",
       "expected an integer in 1 … 64, got 65"},
      {"optimizer = { id = \"sgd\", lr = 0.5 }", "optimizer = \"sgd\"", "train.optimizer",
       "expected a table, got a string; write optimizer = { id = … }"},
      {"optimizer = { id = \"sgd\", lr = 0.5 }", "", "train.optimizer", "missing table"},
      {"id = \"sgd\", lr", "lr", "train.optimizer.id",
       "missing; expected one of sgd, lars, adam, adamw"},
      {"id = \"sgd\"", "id = \"adam\", momentum = 0.9", "train.optimizer.momentum",
       "unknown key of optimizer 'adam'"},
      {"id = \"sgd\"", "id = \"lion\", trust = 1", "train.optimizer.id",
       "expected one of sgd, lars, adam, adamw, got the string \"lion\""},
      {"id = \"sgd\"", "id = \"sgd\", momentum = 0, nesterov = true", "train.optimizer.nesterov",
       "needs momentum"},
      {"batch = 8", "batch = 8\nschedule = { warm_up = 1 }", "train.schedule.warm_up",
       "unknown key of schedule 'constant'"},
      {"batch = 8", "batch = 8\nschedule = { id = \"step\" }", "train.schedule.milestones",
       "missing"},
      {"batch = 8", "batch = 8\nschedule = { id = \"step\", milestones = [0] }",
       "train.schedule.milestones.0", "got 0"},
      {"batch = 8", "batch = 8\nschedule = { id = \"cosine\", per = \"batch\" }",
       "train.schedule.per", "expected one of epoch, step"},
      {"batch = 8", "batch = 8\nschedule = { id = \"gh-two-stage\" }", "train.schedule.id",
       "needs the table [harmonize]"},
      {"id = \"simclr\"", "id = \"queued\"\nqueue = 0", "method.queue", "expected an integer ≥ 1"},
      {"id = \"simclr\"", "id = \"throwing\"", "method",
       "ssl 'throwing': its validation failed: out of ideas"},
  }));
  CAPTURE(to);
  const Loaded loaded = load(changed(kMinimal, from, to));
  const Diagnostic d = only(loaded.out);
  CHECK(d.level == Diagnostic::Level::error);
  CHECK(d.key == key);
  CHECK_THAT(d.message, Contains(message));
  CHECK(d.source.line > 0);
}

TEST_CASE("a table under a wrong name is both unknown and missing") {
  const Loaded loaded = load(changed(kMinimal, "[backbone]", "[backbones]"));
  CHECK_THAT(summary(loaded.out),
             Contains("backbones: unknown table of the recipe; did you mean 'backbone'?"));
  CHECK_THAT(summary(loaded.out), Contains("backbone: missing table"));
  CHECK(loaded.out.error_count() == 2);
}

TEST_CASE("evaluation at the warm-up needs one") {
  const std::string eval = "[[eval]]\nid = \"knn\"\nwhen = [\"end\", \"warm-up\"]\n";
  const Loaded plain = load(kMinimal + eval);
  const Diagnostic d = only(plain.out);
  CHECK(d.key == "eval.0.when");
  CHECK(d.message == "\"warm-up\" needs the table [harmonize], which is absent");
  CHECK(d.source.line == 13);
  CHECK(d.source.column == 16);
  CHECK_THAT(only(load(changed(kFull, "warm_up = 5", "warm_up = 0")).out).message,
             Contains("needs harmonize.warm_up of at least 1"));
  CHECK(load(changed(kFull, "warm_up = 5", "warm_up = 1")).out.all().empty());
}

TEST_CASE("an evaluation that never runs, or a moment named twice, is a mistake") {
  CHECK_THAT(only(load(kMinimal + "[[eval]]\nid = \"knn\"\nwhen = []\n").out).message,
             Contains("would never run"));
  CHECK_THAT(
      only(load(kMinimal + "[[eval]]\nid = \"knn\"\nwhen = [\"end\", \"end\"]\n").out).message,
      Contains("\"end\" twice"));
}

TEST_CASE("GH must start before the end, also when the warm-up is the last epoch's") {
  CHECK(load(changed(kFull, "warm_up = 5", "warm_up = 19")).out.all().empty());
  const Loaded never = load(changed(kFull, "warm_up = 5", "warm_up = 20"));
  const Diagnostic d = only(never.out);
  CHECK(d.key == "harmonize.warm_up");
  CHECK(d.source.line == 24);
  CHECK(d.source.column == 11);
}

TEST_CASE("a component's own rules point at the keys they are about") {
  const Loaded loaded = load(changed(kMinimal, "id = \"simclr\"", "id = \"queued\"\nqueue = 7"));
  INFO(summary(loaded.out));
  REQUIRE(loaded.out.all().size() == 2);
  CHECK(loaded.out.all()[0].key == "method.queue");
  CHECK(loaded.out.all()[0].message == "ssl 'queued': must be even");
  CHECK(loaded.out.all()[0].source.line == 7);
  CHECK(loaded.out.all()[0].source.column == 9);
  CHECK(loaded.out.all()[1].key == "train.batch");
  CHECK(loaded.out.all()[1].source.line == 10);
}

TEST_CASE("a swapped-out plugin leaves its keys behind, and each is named") {
  const Loaded loaded = load(changed(kFull, "id = \"simclr\"", "id = \"barlow\"\nlamda = 1"));
  const std::string text = summary(loaded.out);
  CHECK_THAT(
      text,
      Contains("method.temperature: unknown key of ssl 'barlow'; its keys are: id, lambda, note"));
  CHECK_THAT(text, Contains("method.projector: unknown table of ssl 'barlow'"));
  CHECK_THAT(text, Contains("method.lamda: unknown key of ssl 'barlow'; did you mean 'lambda'? Its "
                            "keys are: id, lambda, note"));
  CHECK(loaded.out.error_count() == 3);
}

TEST_CASE("a deprecated key is taken under its new name, with a warning") {
  const Loaded loaded = load(changed(kFull, "temperature = 1", "tau = 1"));
  const Diagnostic d = only(loaded.out);
  CHECK(d.level == Diagnostic::Level::warning);
  CHECK(d.key == "method.tau");
  CHECK(loaded.recipe.real("method.temperature") == 1.0);
  CHECK_FALSE(loaded.recipe.find("method.tau"));
}
