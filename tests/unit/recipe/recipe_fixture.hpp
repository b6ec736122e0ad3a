// A directory of recipes and a catalog of make-believe components, for the tests of this room.
#pragma once

#include "recipe/recipe.hpp"
#include "recipe/toml.hpp"
#include "support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <string>
#include <vector>

namespace gh::host::test {

using TempDir = gh::test::TemporaryDirectory;

inline constexpr Param kToy[] = {
    gh::integer("samples", "100", "samples of the largest class").at_least(1),
    gh::path("root", nullptr, "where the files are").optional(),
    gh::path("cache", "cache", "where to keep decoded samples"),
};
inline constexpr Param kMlp[] = {
    gh::integers("widths", "[32, 16]", "units of each layer").at_least(1),
    gh::choice("stem", "small", "small|large", "first layer"),
};
inline constexpr Param kProjector[] = {
    gh::integer("dim", "128", "output").at_least(1),
    gh::boolean("norm", "true", "batch normalisation"),
};
inline constexpr Param kSimclr[] = {
    gh::real("temperature", "0.2", "softmax temperature").above(0).formerly("tau"),
    gh::table("projector", "{}", "head", kProjector),
};
inline constexpr Param kBarlow[] = {
    gh::real("lambda", "5e-3", "weight of the off-diagonal").at_least(0),
    gh::text("note", "plain", "free text"),
};
inline constexpr Param kWarm[] = {gh::real("temperature", "0.7", "of another kind").above(0)};
inline constexpr Param kQueued[] = {gh::integer("queue", "64", "negatives kept").at_least(1)};
inline constexpr Param kEtf[] = {
    gh::integer("points", nullptr, "points of the structure").at_least(2)};
inline constexpr Param kSinkhorn[] = {
    gh::integer("iterations", "300", "at most").at_least(1),
    gh::real("epsilon", "0.05", "entropy").above(0),
};
inline constexpr Param kKnn[] = {gh::integer("k", "20", "neighbours").at_least(1)};
inline constexpr Param kOtherKnn[] = {gh::integer("k", "5", "neighbours").at_least(1)};
inline constexpr Param kGreedy[] = {gh::real("longtail", "1.0", "a key that is the host's")};

class FakeCatalog : public Catalog {
 public:
  FakeCatalog() {
    add(GH_KIND_DATASET, "toy", read_schema(kToy));
    add(GH_KIND_DATASET, "other", {});
    add(GH_KIND_DATASET, "greedy", read_schema(kGreedy));
    add(GH_KIND_BACKBONE, "mlp", read_schema(kMlp));
    add(GH_KIND_SSL, "simclr", read_schema(kSimclr));
    add(GH_KIND_SSL, "barlow", read_schema(kBarlow));
    add(GH_KIND_SSL, "warm", read_schema(kWarm));
    add(GH_KIND_SSL, "queued", read_schema(kQueued), [](const void* params, void* complaints) {
      if (static_cast<const Params*>(params)->integer("queue") % 2 == 0) return;
      static_cast<Complaints*>(complaints)->add("queue", "must be even");
      static_cast<Complaints*>(complaints)->add(".train.batch", "must divide the queue");
    });
    add(GH_KIND_SSL, "throwing", {},
        [](const void*, void*) { throw std::runtime_error("out of ideas"); });
    add(GH_KIND_STRUCTURE, "etf", read_schema(kEtf));
    add(GH_KIND_ALLOCATOR, "sinkhorn", read_schema(kSinkhorn));
    add(GH_KIND_EVALUATOR, "knn", read_schema(kKnn));
    add(GH_KIND_EVALUATOR, "other_knn", read_schema(kOtherKnn));
  }

  Found find(gh_kind kind, const std::string& id) override {
    const auto found = components_.find({kind, id});
    if (found == components_.end()) return {nullptr, nullptr, "nobody provides '" + id + "'"};
    return {&found->second.first, found->second.second, ""};
  }

 private:
  using Validate = void (*)(const void*, void*);
  void add(gh_kind kind, const std::string& id, Schema schema, Validate validate = nullptr) {
    components_[{kind, id}] = {std::move(schema), validate};
  }
  std::map<std::pair<gh_kind, std::string>, std::pair<Schema, Validate>> components_;
};

// The least that is a recipe, and one that uses every table.
inline const std::string kMinimal = R"([data]
id = "toy"
[backbone]
id = "mlp"
[method]
id = "simclr"
[train]
epochs = 20
batch = 8
optimizer = { id = "sgd", lr = 0.5 }
)";
inline const std::string kFull = R"(name = "all of it"
seed = 7

[data]
id = "toy"
samples = 50
root = "images"
longtail = { law = "step", ratio = 100 }

[views]
count = 3
noise = 0.1

[backbone]
id = "mlp"
widths = [8, 4]

[method]
id = "simclr"
temperature = 1
projector = { dim = 16 }

[harmonize]
warm_up = 5
structure = { id = "etf", points = 10 }
allocator = { id = "sinkhorn" }

[train]
epochs = 20
batch = 8
optimizer = { id = "adam" }
schedule = { id = "gh-two-stage" }

[[eval]]
id = "knn"
when = ["start", "warm-up", "end"]

[[eval]]
id = "knn"
k = 1
)";

// What load_recipe() makes of a text.
struct Loaded {
  Diagnostics out;
  Recipe recipe;
};
inline Loaded load_file(const std::filesystem::path& file,
                        const std::vector<std::string>& overrides = {}) {
  Loaded loaded;
  FakeCatalog catalog;
  loaded.recipe = load_recipe(file, overrides, catalog, loaded.out);
  return loaded;
}
inline Loaded load(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const TempDir dir;
  return load_file(dir.write("recipe.toml", text), overrides);
}

// "key message" of every diagnostic, one a line, for matching and for messages of failed tests.
inline std::string summary(const Diagnostics& out) {
  std::string text;
  for (const Diagnostic& d : out.all())
    text += std::to_string(d.source.line) + ":" + std::to_string(d.source.column) + " " + d.key +
            ": " + d.message + "\n";
  return text;
}

// The only diagnostic; fails the test if there are others.
inline Diagnostic only(const Diagnostics& out) {
  INFO(summary(out));
  REQUIRE(out.all().size() == 1);
  return out.all().front();
}

}  // namespace gh::host::test
