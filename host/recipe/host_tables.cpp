#include "recipe/host_tables.hpp"

#include "recipe/recipe.hpp"
#include "recipe/table_parts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gh::host {
namespace {

using Presence = TableSpec::Presence;

constexpr Param kRoot[] = {
    gh::text("name", nullptr, "name of the run; the file's name without extension if left out")
        .optional(),
    gh::integer("seed", "0", "seed of everything random").at_least(0),
    gh::texts("include", nullptr, "recipes this one builds on, relative to it; its own keys win")
        .optional(),
    gh::texts("without", nullptr,
              "tables and keys of included recipes that are left out, as in \"harmonize\"")
        .optional(),
};

constexpr Param kLongtail[] = {
    gh::choice("law", "exp", "exp|step|pareto|counts|file",
               "how class sizes fall from the first class to the last, or what names the samples"),
    gh::real("ratio", nullptr,
             "exp, step, pareto: size of the largest class divided by that of the smallest")
        .at_least(1)
        .optional(),
    gh::real("alpha", "1.0", "pareto: exponent of the tail").above(0),
    gh::integers("counts", nullptr, "counts: samples to keep of each class")
        .at_least(1)
        .at_most(1e12)
        .optional(),
    gh::path("file", nullptr,
             "file: positions to keep, as .npy, as .json such as a run's data.json, or one a line")
        .optional(),
    gh::real("keep", "1.0", "part of each class, at least one sample, that stays after the law")
        .above(0)
        .at_most(1),
    gh::integer("seed", "0", "seed of the choice of samples").at_least(0).at_most(4294967295),
};
constexpr Param kData[] = {
    gh::table("longtail", nullptr, "thin the training split to a long tail", kLongtail).optional(),
};

constexpr Param kBackbone[] = {
    gh::path("weights", nullptr, "start from these: .safetensors, or a .pth dictionary of PyTorch")
        .optional(),
};

constexpr Param kCheckpoint[] = {
    gh::integer("every", "1", "between checkpoints").at_least(1).at_most(kMostEpochs).in("epochs"),
    gh::real("minutes", "15.0", "also after so much time within an epoch; 0: never").at_least(0),
    gh::integer("keep", "2", "newest checkpoints kept").at_least(1).at_most(kMostEpochs),
    gh::integer("best", "0", "checkpoints kept besides, by metric")
        .at_least(0)
        .at_most(kMostEpochs),
    gh::text("metric", "\"loss\"", "column of metrics.jsonl that decides which are best"),
    gh::choice("goal", "min", "min|max", "whether small or large values are good"),
};

constexpr Param kRanks[] = {
    gh::boolean("sync_norm", "true", "normalisation uses the statistics of all ranks"),
    gh::real("timeout", "600.0", "a rank that is silent for so long counts as dead")
        .above(0)
        .at_most(1e6)
        .in("seconds"),
};

constexpr Param kLoader[] = {
    gh::integer("threads", "0",
                "that read, decode and augment; 0: all cores for pictures, one for vectors")
        .at_least(0)
        .at_most(1024),
    gh::integer("prefetch", "3", "batches made ahead").at_least(1).at_most(64),
    gh::choice("on_error", "stop", "stop|skip",
               "an unreadable sample ends the run, or the next readable one takes its place"),
};

constexpr Param one_or_more_of(Param list, const char* choices) {
  list.choices = choices;
  return list;
}

constexpr Param kEval[] = {
    one_or_more_of(gh::texts("when", "[\"end\"]", "moments at which to evaluate"),
                   "start|warm-up|end"),
    gh::integer("every", "0", "also each time so many have passed; 0: never")
        .at_least(0)
        .at_most(kMostEpochs)
        .in("epochs"),
};

TableSpec make_layout() {
  return host_table(
      "", Presence::required, "The recipe", read_schema(kRoot),
      {component_table("data", GH_KIND_DATASET, Presence::required, "What to train on",
                       read_schema(kData)),
       views_table(),
       host_table("loader", Presence::implied, "Who prepares batches; changes no number",
                  read_schema(kLoader)),
       component_table("backbone", GH_KIND_BACKBONE, Presence::required, "The encoder",
                       read_schema(kBackbone)),
       component_table("method", GH_KIND_SSL, Presence::required, "What the encoder learns from"),
       harmonize_table(), train_table(),
       host_table("checkpoint", Presence::implied, "When to save; changes no number",
                  read_schema(kCheckpoint)),
       host_table("ranks", Presence::implied,
                  "Several processes, started by torchrun, srun or mpirun", read_schema(kRanks)),
       component_table("eval", GH_KIND_EVALUATOR, Presence::list,
                       "An evaluation; any number of them", read_schema(kEval))});
}

// ---- listing ----

void list_tables(const TableSpec& spec, const std::string& path, std::vector<HostTable>& out) {
  // A table that may stand in several places is listed once.
  const auto listed = [&](const TableSpec& table) {
    return std::any_of(out.begin(), out.end(), [&](const HostTable& t) {
      return t.path.ends_with("." + table.name) && t.doc.starts_with(table.doc);
    });
  };
  const bool list = spec.presence == TableSpec::Presence::list;
  if (spec.variants.empty()) out.push_back({path, spec.doc, spec.own_keys(), list});
  for (const Variant& variant : spec.variants) {
    // Each variant with an `id` of its own, since that is what one writes to have it.
    Schema keys = spec.own_keys();
    keys.front().choices = {variant.id};
    if (variant.id != spec.default_variant) keys.front().default_value.reset();
    keys.insert(keys.end(), variant.keys.begin(), variant.keys.end());
    out.push_back({path, fmt::format("{}: {}", spec.doc, variant.doc), std::move(keys), list});
  }
  for (const TableSpec& table : spec.tables)
    if (table.presence != Presence::spread && !listed(table))
      list_tables(table, join_path(path, table.name), out);
}

}  // namespace

const TableSpec* TableSpec::find(std::string_view table) const {
  const auto found = std::find_if(tables.begin(), tables.end(),
                                  [&](const TableSpec& t) { return t.name == table; });
  return found == tables.end() ? nullptr : &*found;
}

Schema TableSpec::own_keys() const {
  Schema own;
  if (component) {
    ParamSpec id;
    id.kind = GH_PARAM_STRING;
    id.name = "id";
    id.doc = fmt::format("which {}; its parameters are further keys", kind_name(*component));
    own.push_back(std::move(id));
  } else if (!variants.empty()) {
    ParamSpec id;
    id.kind = GH_PARAM_CHOICE;
    id.name = "id";
    id.doc = "which " + name;
    for (const Variant& variant : variants) id.choices.push_back(variant.id);
    if (!default_variant.empty()) id.default_value = Value{default_variant, {}};
    own.push_back(std::move(id));
  }
  own.insert(own.end(), keys.begin(), keys.end());
  return own;
}

const TableSpec& recipe_layout() {
  static const TableSpec kLayout = make_layout();
  return kLayout;
}

const TableSpec* find_layout(std::string_view path) {
  const TableSpec* at = &recipe_layout();
  while (at && !path.empty()) {
    const std::size_t dot = path.find('.');
    at = at->find(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
    if (!at || at->presence != Presence::list || path.empty()) continue;
    const std::size_t after_index = path.find('.');
    path =
        after_index == std::string_view::npos ? std::string_view{} : path.substr(after_index + 1);
  }
  return at;
}

const std::vector<HostTable>& host_tables() {
  static const std::vector<HostTable> kTables = [] {
    std::vector<HostTable> tables;
    list_tables(recipe_layout(), "", tables);
    return tables;
  }();
  return kTables;
}

}  // namespace gh::host
