#include "recipe/host_tables.hpp"

#include "recipe/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gh::host {
namespace {

using Presence = TableSpec::Presence;

// ---- keys ----

constexpr Param one_or_more_of(Param list, const char* choices) {
  list.choices = choices;
  return list;
}

constexpr Param kRoot[] = {
    gh::text("name", nullptr, "name of the run; the file's name without extension if left out")
        .optional(),
    gh::integer("seed", "0", "seed of everything random").at_least(0),
    gh::texts("include", nullptr, "recipes this one builds on, relative to it; its own keys win")
        .optional(),
};

constexpr Param kLongtail[] = {
    gh::choice("law", "exp", "exp|step", "how class sizes fall from the first class to the last"),
    gh::real("ratio", nullptr, "size of the largest class divided by that of the smallest")
        .at_least(1),
    gh::integer("seed", "0", "seed of the choice of samples").at_least(0),
};
constexpr Param kData[] = {
    gh::table("longtail", nullptr, "thin the training split to a long tail", kLongtail).optional(),
};

constexpr Param kViews[] = {
    gh::integer("count", "2", "views of each sample").at_least(1).at_most(64),
    gh::real("noise", "0.0",
             "standard deviation of the Gaussian noise added to samples that are vectors")
        .at_least(0),
};

constexpr Param kHarmonize[] = {
    gh::integer("warm_up", "0", "training without GH at the start").at_least(0).in("epochs"),
    gh::integer("ramp", "10", "from zero to full weight after the warm-up")
        .at_least(0)
        .in("epochs"),
    gh::real("weight", "1.0", "weight of the GH term in the loss").at_least(0),
    gh::real("temperature", "0.1", "temperature of the softmax over the structure's points")
        .above(0),
    gh::real("momentum", "0.999", "momentum of the tracked prior").at_least(0).below(1),
    gh::real("warm_up_momentum", "0.9", "momentum of the tracked prior during the warm-up")
        .at_least(0)
        .below(1),
    gh::integer("refresh", "20", "between refreshes of the prior").at_least(1).in("epochs"),
    gh::choice("prior", "tracked", "tracked|uniform", "marginal the allocator has to meet"),
};

constexpr Param kTrain[] = {
    gh::integer("epochs", nullptr, "passes over the training split").at_least(1),
    gh::integer("batch", nullptr, "samples a step").at_least(1),
    gh::boolean("drop_last", "false", "leave out the last batch of an epoch when it is not full"),
    gh::integer("threads", "0", "threads that compute; 0: all cores").at_least(0),
    gh::choice("dtype", "float32", "float32|float64", "precision of parameters and activations"),
};

constexpr Param kSgd[] = {
    gh::real("lr", nullptr, "learning rate").above(0),
    gh::real("momentum", "0.9", "momentum").at_least(0).below(1),
    gh::real("weight_decay", "0.0", "L2 penalty").at_least(0),
    gh::boolean("nesterov", "false", "Nesterov momentum"),
};
constexpr Param kAdam[] = {
    gh::real("lr", "1e-3", "learning rate").above(0),
    gh::real("beta1", "0.9", "decay of the mean of gradients").at_least(0).below(1),
    gh::real("beta2", "0.999", "decay of the mean of squared gradients").at_least(0).below(1),
    gh::real("epsilon", "1e-8", "added to the denominator").above(0),
    gh::real("weight_decay", "0.0", "L2 penalty").at_least(0),
};

constexpr Param kCosine[] = {
    gh::integer("warm_up", "0", "linear rise of the learning rate at the start")
        .at_least(0)
        .in("epochs"),
    gh::real("lr_min", "0.0", "learning rate at the end").at_least(0),
};
constexpr Param kTwoStage[] = {
    gh::integer("warm_up", "10", "linear rise of the learning rate at the start")
        .at_least(0)
        .in("epochs"),
    gh::real("lr_split", "0.3", "learning rate at which GH takes over").above(0),
    gh::real("lr_min", "1e-6", "learning rate at the end").at_least(0),
};

constexpr Param kEval[] = {
    one_or_more_of(gh::texts("when", "[\"end\"]", "moments at which to evaluate"),
                   "start|warm-up|end"),
};

// ---- tables ----

TableSpec component(std::string name, gh_kind kind, Presence presence, std::string doc,
                    Schema keys = {}) {
  TableSpec spec{std::move(name), std::move(doc), presence, std::move(keys), kind, {}, {}, {}};
  return spec;
}

TableSpec host(std::string name, Presence presence, std::string doc, Schema keys,
               std::vector<TableSpec> tables = {}) {
  return {std::move(name),  std::move(doc), presence, std::move(keys), {}, {}, {},
          std::move(tables)};
}

TableSpec tagged(std::string name, std::string default_id, std::string doc,
                 std::vector<Variant> variants) {
  const Presence presence = default_id.empty() ? Presence::required : Presence::implied;
  return {std::move(name),     std::move(doc),        presence, {}, {},
          std::move(variants), std::move(default_id), {}};
}

TableSpec make_layout() {
  TableSpec optimizer =
      tagged("optimizer", "", "How gradients move the weights",
             {{"sgd", "stochastic gradient descent with momentum", read_schema(kSgd)},
              {"adam", "Adam", read_schema(kAdam)}});
  TableSpec schedule = tagged(
      "schedule", "constant", "Learning rate over time",
      {{"constant", "the optimizer's rate throughout", {}},
       {"cosine", "half a cosine from the optimizer's rate to lr_min", read_schema(kCosine)},
       {"gh-two-stage", "one cosine for the warm-up, another for GH", read_schema(kTwoStage)}});
  return host(
      "", Presence::required, "The recipe", read_schema(kRoot),
      {component("data", GH_KIND_DATASET, Presence::required, "What to train on",
                 read_schema(kData)),
       host("views", Presence::implied, "What the method sees of a sample", read_schema(kViews)),
       component("backbone", GH_KIND_BACKBONE, Presence::required, "The encoder"),
       component("method", GH_KIND_SSL, Presence::required, "What the encoder learns from"),
       host("harmonize", Presence::optional,
            "Geometric Harmonization; without the table the plain method runs",
            read_schema(kHarmonize),
            {component("structure", GH_KIND_STRUCTURE, Presence::required,
                       "Points the samples are drawn to"),
             component("allocator", GH_KIND_ALLOCATOR, Presence::required,
                       "Which sample goes to which point")}),
       host("train", Presence::required, "How long, how fast, in which precision",
            read_schema(kTrain), {std::move(optimizer), std::move(schedule)}),
       component("eval", GH_KIND_EVALUATOR, Presence::list, "An evaluation; any number of them",
                 read_schema(kEval))});
}

// ---- rules across tables ----

template <class T>
const T* get(const Table& resolved, std::string_view path) {
  const Value* value = find_path(resolved, path);
  return value ? value->as<T>() : nullptr;
}

void gh_starts_before_the_end(const Table& resolved, Diagnostics& out) {
  const int64_t* warm_up = get<int64_t>(resolved, "harmonize.warm_up");
  const int64_t* epochs = get<int64_t>(resolved, "train.epochs");
  if (!warm_up || !epochs || *warm_up < *epochs) return;
  out.error(locate(resolved, "harmonize.warm_up"), "harmonize.warm_up",
            fmt::format("expected less than train.epochs = {}, got {}: GH would never start",
                        *epochs, *warm_up));
}

void two_stages_need_gh(const Table& resolved, Diagnostics& out) {
  const std::string* id = get<std::string>(resolved, "train.schedule.id");
  if (!id || *id != "gh-two-stage" || resolved.find("harmonize")) return;
  out.error(locate(resolved, "train.schedule.id"), "train.schedule.id",
            "schedule \"gh-two-stage\" needs the table [harmonize], which is absent");
}

void nesterov_needs_momentum(const Table& resolved, Diagnostics& out) {
  const bool* nesterov = get<bool>(resolved, "train.optimizer.nesterov");
  const double* momentum = get<double>(resolved, "train.optimizer.momentum");
  if (!nesterov || !*nesterov || !momentum || *momentum > 0) return;
  out.error(locate(resolved, "train.optimizer.nesterov"), "train.optimizer.nesterov",
            "needs momentum above 0, got 0");
}

void moments_of_evaluation_happen(const Table& resolved, Diagnostics& out) {
  const Array* evals = get<Array>(resolved, "eval");
  const int64_t* warm_up = get<int64_t>(resolved, "harmonize.warm_up");
  const bool gh = resolved.find("harmonize");
  for (std::size_t i = 0; evals && i < evals->size(); ++i) {
    const std::string key = fmt::format("eval.{}.when", i);
    const Array* when = get<Array>(resolved, key);
    if (!when) continue;
    if (when->empty())
      out.error(locate(resolved, key), key, "names no moment, so it would never run");
    std::vector<std::string> seen;
    for (const Value& moment : *when) {
      const std::string& text = *moment.as<std::string>();
      if (std::count(seen.begin(), seen.end(), text))
        out.error(moment.source, key, fmt::format("names \"{}\" twice", text));
      seen.push_back(text);
      if (text != "warm-up") continue;
      if (!gh)
        out.error(moment.source, key, "\"warm-up\" needs the table [harmonize], which is absent");
      else if (warm_up && *warm_up < 1)
        out.error(moment.source, key, "\"warm-up\" needs harmonize.warm_up of at least 1, got 0");
    }
  }
}

void run_has_a_name(const Table& resolved, Diagnostics& out) {
  const std::string* name = get<std::string>(resolved, "name");
  if (name && name->empty())
    out.error(locate(resolved, "name"), "name", "expected a name, got the string \"\"");
}

using Rule = void (*)(const Table& resolved, Diagnostics& out);
constexpr Rule kRules[] = {run_has_a_name, gh_starts_before_the_end, two_stages_need_gh,
                           nesterov_needs_momentum, moments_of_evaluation_happen};

// ---- listing ----

void list_tables(const TableSpec& spec, const std::string& path, std::vector<HostTable>& out) {
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
  for (const TableSpec& table : spec.tables) list_tables(table, join_path(path, table.name), out);
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

void check_rules(const Table& resolved, Diagnostics& out) {
  for (const Rule rule : kRules) rule(resolved, out);
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
