#include "recipe/host_tables.hpp"

#include "recipe/recipe.hpp"
#include "recipe/view_presets.hpp"

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

// Far beyond use, and small enough for products of them to be counted.
constexpr double kMostEpochs = 1'000'000;
constexpr double kMostSamples = 1 << 20;  // of a batch

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
    gh::integer("seed", "0", "seed of the choice of samples").at_least(0).at_most(4294967295),
};
constexpr Param kData[] = {
    gh::table("longtail", nullptr, "thin the training split to a long tail", kLongtail).optional(),
};

// ---- views: keys of a group; directly in [views] they go to every group ----

constexpr Param kGroup[] = {
    gh::integer("count", "1", "views of this kind").at_least(1).at_most(64),
    gh::integer("size", nullptr, "side of the square a picture becomes")
        .at_least(1)
        .at_most(4096)
        .in("pixels")
        .optional(),
    gh::real("flip", "0.0", "probability of mirroring left to right").at_least(0).at_most(1),
    gh::real("grayscale", "0.0", "probability of losing all colour").at_least(0).at_most(1),
    gh::real("noise", "0.0",
             "standard deviation of the Gaussian noise added to samples that are vectors")
        .at_least(0),
};
constexpr const char* kForEveryGroup = "for every group; tables of a group may stand here likewise";
constexpr Param kSpreadKeys[] = {
    gh::integer("count", nullptr, kForEveryGroup).at_most(64).optional(),
    gh::integer("size", nullptr, kForEveryGroup).at_most(4096).optional(),
    gh::real("flip", nullptr, kForEveryGroup).optional(),
    gh::real("grayscale", nullptr, kForEveryGroup).optional(),
    gh::real("noise", nullptr, kForEveryGroup).optional(),
};
constexpr Param kPlain[] = {
    gh::integer("size", nullptr, "side of the square a picture becomes")
        .at_least(1)
        .at_most(4096)
        .in("pixels")
        .optional(),
};

constexpr Param kFilter =
    gh::choice("filter", "bilinear", "bilinear|bicubic", "antialiased, as Pillow resizes");
constexpr Param kRandomResized[] = {
    gh::reals("scale", "[0.08, 1.0]", "smallest and largest share of the area").above(0).at_most(1),
    gh::reals("ratio", "[0.75, 1.3333333333333333]", "smallest and largest width over height")
        .above(0),
    kFilter,
};
constexpr Param kCentre[] = {
    gh::integer("short_side", nullptr, "to which the shorter side is resized before cutting")
        .at_least(1)
        .at_most(16384)
        .in("pixels"),
    kFilter,
};
constexpr Param kPad[] = {
    gh::integer("padding", "4", "black border put around the square before cutting one at random")
        .at_least(0)
        .at_most(4096)
        .in("pixels"),
    kFilter,
};
constexpr Param kWhole[] = {kFilter};

constexpr Param kJitter[] = {
    gh::real("p", "0.8", "probability").at_least(0).at_most(1),
    gh::real("brightness", "0.4", "factor in 1 ± this").at_least(0),
    gh::real("contrast", "0.4", "factor in 1 ± this").at_least(0),
    gh::real("saturation", "0.4", "factor in 1 ± this").at_least(0),
    gh::real("hue", "0.1", "turn in ± this part of a circle").at_least(0).at_most(0.5),
};
constexpr Param kBlur[] = {
    gh::real("p", "0.5", "probability").at_least(0).at_most(1),
    gh::reals("sigma", "[0.1, 2.0]", "smallest and largest standard deviation")
        .at_least(0)
        .in("pixels"),
};
constexpr Param kSolarize[] = {
    gh::real("p", "0.2", "probability").at_least(0).at_most(1),
    gh::integer("threshold", "128", "values from here on are inverted").at_least(0).at_most(256),
};
constexpr Param kBoost[] = {
    gh::integer("ops", "1", "operations drawn for a view, of BCL's fifteen").at_least(1).at_most(8),
    gh::reals("strength", "[10.0, 30.0]", "at weight 0 and at weight 1").at_least(0).at_most(30),
    gh::choice("chance", "weight", "weight|always",
               "each operation happens with the sample's weight as probability, or always"),
    gh::choice("spread", "fixed", "fixed|uniform",
               "strength is that of the weight, or of the weight times a uniform draw"),
};
constexpr Param kCutout[] = {
    gh::real("p", "0.5", "probability").at_least(0).at_most(1),
    gh::real("side", "0.5", "of the square cut out, as a part of the view's").above(0).at_most(1),
    gh::integers("fill", "[0, 0, 0]", "colour").at_least(0).at_most(255),
};
constexpr Param kNormalize[] = {
    gh::reals("mean", nullptr, "subtracted from red, green and blue in 0 … 1"),
    gh::reals("std", nullptr, "by which they are divided then").above(0),
};

constexpr Param kHarmonize[] = {
    gh::choice("mode", "reference", "reference|paper",
               "what the published code computes, or the formulas as printed: paper changes the "
               "defaults of logits, allocate, track, directions, ramp and warm_up_momentum"),
    gh::integer("warm_up", "0", "training without GH at the start")
        .at_least(0)
        .at_most(kMostEpochs)
        .in("epochs"),
    gh::integer("ramp", "10", "from zero to full weight after the warm-up")
        .at_least(0)
        .at_most(kMostEpochs)
        .in("epochs"),
    gh::real("weight", "1.0", "weight of the GH term in the loss").at_least(0),
    gh::real("temperature", "0.1", "temperature of the softmax over the structure's points")
        .above(0),
    gh::choice("logits", "unit", "unit|cosine",
               "products of embedding and points, scaled to rows of length 1, or their cosines"),
    gh::choice("allocate", "logits", "logits|log-softmax", "what the allocator is shown"),
    gh::choice("track", "logits", "logits|softmax", "what is averaged for each sample"),
    gh::choice("directions", "both", "both|one",
               "each view learns from the targets of the other, or only the first from the second"),
    gh::choice("targets", "bi-level", "bi-level|joint",
               "targets are constants, or gradients flow through the allocation, too"),
    gh::choice("apply", "loss", "loss|projector",
               "a term of the loss, or a fixed layer between the embedding and the method's loss"),
    gh::real("momentum", "0.999", "momentum of what is tracked").at_least(0).below(1),
    gh::real("warm_up_momentum", "0.9", "momentum of what is tracked during the warm-up")
        .at_least(0)
        .below(1),
    gh::integer("track_from", "1", "the first that is tracked")
        .at_least(1)
        .at_most(kMostEpochs)
        .in("epochs"),
};
constexpr Param kTrackedPrior[] = {
    gh::integer("refresh", "20", "between refreshes").at_least(1).at_most(kMostEpochs).in("epochs"),
    gh::choice("refresh_at", "batch", "batch|epoch",
               "small sets: after every batch of an epoch that refreshes; large sets: once, at the "
               "end of the epoch before"),
    gh::real("floor", "0.0", "added to each point's count").at_least(0).in("samples"),
};
constexpr Param kOraclePrior[] = {
    gh::real("temperature", "1.0", "shares are class sizes to the power of 1/temperature").above(0),
};
constexpr Param kFilePrior[] = {
    gh::path("file", nullptr, "a share for each point: a JSON list, or numbers one a line"),
};

constexpr Param kTrain[] = {
    gh::integer("epochs", nullptr, "passes over the training split")
        .at_least(1)
        .at_most(kMostEpochs),
    gh::integer("batch", nullptr, "samples a step").at_least(1).at_most(kMostSamples),
    gh::integer(
        "accumulate", "1",
        "parts a batch is computed in, one after the other; losses that compare samples see "
        "one part at a time")
        .at_least(1)
        .at_most(kMostSamples),
    gh::boolean("drop_last", "false", "leave out the last batch of an epoch when it is not full"),
    gh::real("clip", "0.0", "largest norm of the gradient; 0: any").at_least(0),
    gh::text("device", "\"auto\"",
             "\"cpu\", \"cuda\", \"cuda:1\", …; \"auto\" takes a CUDA device where there is one"),
    gh::integer("threads", "0",
                "threads that compute; 0: all cores, shared among the ranks on them")
        .at_least(0)
        .at_most(1024),
    gh::choice("dtype", "float32", "float32|float64", "precision of parameters and activations"),
    gh::choice("autocast", "off", "off|bf16|fp16",
               "lower precision inside operators, on CUDA; fp16 scales the loss"),
    gh::boolean("channels_last", "false", "pictures lie in memory with their channels innermost"),
    gh::choice("convolution", "auto", "auto|fast|exact|onednn",
               "on the CPU; fast: Winograd F(4x4), exact: F(2x2), onednn: LibTorch's own"),
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

constexpr Param decay_bias_and_norm(const char* by_default) {
  return gh::boolean("decay_bias_and_norm", by_default,
                     "parameters of one dimension decay too, unless the method says otherwise");
}
constexpr Param kSgd[] = {
    gh::real("lr", nullptr, "learning rate").above(0),
    gh::real("momentum", "0.9", "momentum").at_least(0).below(1),
    gh::real("weight_decay", "0.0", "L2 penalty").at_least(0),
    gh::boolean("nesterov", "false", "Nesterov momentum"),
    decay_bias_and_norm("true"),
};
constexpr Param kLars[] = {
    gh::real("lr", nullptr, "learning rate").above(0),
    gh::real("momentum", "0.9", "momentum").at_least(0).below(1),
    gh::real("weight_decay", "1e-6", "L2 penalty").at_least(0),
    gh::real("eta", "0.001", "a layer's step as a part of its norm").above(0),
    gh::boolean("decay_bias_and_norm", "false",
                "parameters of one dimension decay and are scaled too, unless the method says "
                "otherwise"),
};
constexpr Param kAdam[] = {
    gh::real("lr", "1e-3", "learning rate").above(0),
    gh::real("beta1", "0.9", "decay of the mean of gradients").at_least(0).below(1),
    gh::real("beta2", "0.999", "decay of the mean of squared gradients").at_least(0).below(1),
    gh::real("epsilon", "1e-8", "added to the denominator").above(0),
    gh::real("weight_decay", "0.0", "L2 penalty").at_least(0),
    decay_bias_and_norm("true"),
};
constexpr Param kAdamW[] = {
    gh::real("lr", "1e-3", "learning rate").above(0),
    gh::real("beta1", "0.9", "decay of the mean of gradients").at_least(0).below(1),
    gh::real("beta2", "0.999", "decay of the mean of squared gradients").at_least(0).below(1),
    gh::real("epsilon", "1e-8", "added to the denominator").above(0),
    gh::real("weight_decay", "0.01",
             "share of the weights taken off in a step, times the learning rate")
        .at_least(0),
    decay_bias_and_norm("true"),
};

constexpr Param kCosine[] = {
    gh::integer("warm_up", "0", "linear rise of the learning rate at the start")
        .at_least(0)
        .at_most(kMostEpochs)
        .in("epochs"),
    gh::real("lr_min", "0.0", "learning rate at the end").at_least(0),
    gh::choice(
        "per", "epoch", "epoch|step",
        "how often the rate changes: by epoch it is that of the epoch's end, by step that of "
        "the step"),
};
constexpr Param kStep[] = {
    gh::integer("warm_up", "0", "linear rise of the learning rate at the start")
        .at_least(0)
        .at_most(kMostEpochs)
        .in("epochs"),
    gh::integers("milestones", nullptr, "after which the rate is multiplied by gamma")
        .at_least(1)
        .at_most(kMostEpochs)
        .in("epochs"),
    gh::real("gamma", "0.1", "factor").above(0).at_most(1),
};
constexpr Param kTwoStage[] = {
    gh::integer("warm_up", "10", "linear rise of the learning rate at the start")
        .at_least(0)
        .at_most(kMostEpochs)
        .in("epochs"),
    gh::real("lr_split", "0.3", "learning rate at which GH takes over").above(0),
    gh::real("lr_min", "1e-6", "learning rate at the end").at_least(0),
};

constexpr Param kEval[] = {
    one_or_more_of(gh::texts("when", "[\"end\"]", "moments at which to evaluate"),
                   "start|warm-up|end"),
    gh::integer("every", "0", "also each time so many have passed; 0: never")
        .at_least(0)
        .at_most(kMostEpochs)
        .in("epochs"),
};

// ---- tables ----

TableSpec component(std::string name, gh_kind kind, Presence presence, std::string doc,
                    Schema keys = {}) {
  return {std::move(name), std::move(doc), presence, std::move(keys), kind, {}, {}, {}, nullptr};
}

TableSpec host(std::string name, Presence presence, std::string doc, Schema keys,
               std::vector<TableSpec> tables = {}) {
  return {std::move(name),   std::move(doc), presence, std::move(keys), {}, {}, {},
          std::move(tables), nullptr};
}

TableSpec tagged(std::string name, std::string default_id, std::string doc,
                 std::vector<Variant> variants) {
  const Presence presence = default_id.empty() ? Presence::required : Presence::implied;
  return {std::move(name),     std::move(doc),        presence, {},     {},
          std::move(variants), std::move(default_id), {},       nullptr};
}

// The operations of a group, in the order in which they are applied.
std::vector<TableSpec> view_operations(Presence presence) {
  TableSpec crop =
      tagged("crop", "random-resized", "How a square is taken from a picture",
             {{"random-resized", "a random part, resized", read_schema(kRandomResized)},
              {"centre", "the middle of the resized picture", read_schema(kCentre)},
              {"pad", "a random part of the resized and padded picture", read_schema(kPad)},
              {"whole", "everything, resized", read_schema(kWhole)}});
  crop.presence = presence;
  return {std::move(crop),
          host("jitter", presence, "Brightness, contrast, saturation and hue, in random order",
               read_schema(kJitter)),
          host("blur", presence, "Gaussian blur, as Pillow blurs", read_schema(kBlur)),
          host("solarize", presence, "Inverts what is bright", read_schema(kSolarize)),
          host("boost", presence,
               "Memory-boosted operations; a method publishes each sample's weight as \"strength\"",
               read_schema(kBoost)),
          host("cutout", presence, "Fills a random square", read_schema(kCutout)),
          host("normalize", presence, "Centres and scales colours; without it they lie in 0 … 1",
               read_schema(kNormalize))};
}

TableSpec make_views() {
  static constexpr Param kPresetKey =
      gh::choice("preset", nullptr, "-", "start from a known list of groups").optional();
  Param preset = kPresetKey;
  preset.choices = view_preset_names();
  Schema keys = read_schema(&preset, 1, sizeof(Param));
  for (ParamSpec& key : read_schema(kSpreadKeys)) keys.push_back(std::move(key));
  std::vector<TableSpec> plain_tables;
  for (TableSpec& spec : view_operations(Presence::optional))
    if (spec.name == "crop" || spec.name == "normalize") plain_tables.push_back(std::move(spec));
  std::vector<TableSpec> tables = view_operations(Presence::spread);
  tables.push_back(host("group", Presence::list, "Views of one kind; any number of groups",
                        read_schema(kGroup), view_operations(Presence::optional)));
  tables.push_back(host("plain", Presence::implied,
                        "What evaluators see; follows the first group where nothing is written",
                        read_schema(kPlain), std::move(plain_tables)));
  TableSpec views = host("views", Presence::implied, "What the method sees of a sample",
                         std::move(keys), std::move(tables));
  views.expand = expand_views;
  return views;
}

// The formulas as printed are other defaults for some keys.
Table expand_mode(const Table& written) {
  const Value* mode = written.find("mode");
  const std::string* name = mode ? mode->as<std::string>() : nullptr;
  if (!name || *name != "paper") return written;
  Table out = written;
  const auto by_default = [&](const char* key, auto value) {
    if (!out.find(key)) out.set(key, Value{std::move(value), mode->source});
  };
  by_default("logits", std::string("cosine"));
  by_default("allocate", std::string("log-softmax"));
  by_default("track", std::string("softmax"));
  by_default("directions", std::string("one"));
  by_default("ramp", int64_t{0});
  by_default("warm_up_momentum", 0.999);
  return out;
}

TableSpec make_harmonize() {
  TableSpec prior = tagged(
      "prior", "tracked", "Shares of the samples that the points are to receive",
      {{"tracked", "as the samples are found to lean", read_schema(kTrackedPrior)},
       {"uniform", "the same for all", {}},
       {"oracle", "the class sizes, which training should not know", read_schema(kOraclePrior)},
       {"file", "given", read_schema(kFilePrior)}});
  TableSpec out = host("harmonize", Presence::optional,
                       "Geometric Harmonization; without the table the plain method runs",
                       read_schema(kHarmonize),
                       {component("structure", GH_KIND_STRUCTURE, Presence::required,
                                  "Points the samples are drawn to"),
                        component("allocator", GH_KIND_ALLOCATOR, Presence::required,
                                  "Which sample goes to which point"),
                        std::move(prior)});
  out.expand = expand_mode;
  return out;
}

TableSpec make_layout() {
  TableSpec optimizer =
      tagged("optimizer", "", "How gradients move the weights",
             {{"sgd", "stochastic gradient descent with momentum", read_schema(kSgd)},
              {"lars", "layer-wise adaptive rates, for large batches", read_schema(kLars)},
              {"adam", "Adam", read_schema(kAdam)},
              {"adamw", "Adam with decoupled weight decay", read_schema(kAdamW)}});
  TableSpec schedule = tagged(
      "schedule", "constant", "Learning rate over time",
      {{"constant", "the optimizer's rate throughout", {}},
       {"cosine", "half a cosine from the optimizer's rate to lr_min", read_schema(kCosine)},
       {"step", "a factor at each milestone", read_schema(kStep)},
       {"gh-two-stage", "one cosine for the warm-up, another for GH", read_schema(kTwoStage)}});
  return host("", Presence::required, "The recipe", read_schema(kRoot),
              {component("data", GH_KIND_DATASET, Presence::required, "What to train on",
                         read_schema(kData)),
               make_views(),
               host("loader", Presence::implied, "Who prepares batches; changes no number",
                    read_schema(kLoader)),
               component("backbone", GH_KIND_BACKBONE, Presence::required, "The encoder",
                         read_schema(kBackbone)),
               component("method", GH_KIND_SSL, Presence::required, "What the encoder learns from"),
               make_harmonize(),
               host("train", Presence::required, "How long, how fast, in which precision",
                    read_schema(kTrain), {std::move(optimizer), std::move(schedule)}),
               host("checkpoint", Presence::implied, "When to save; changes no number",
                    read_schema(kCheckpoint)),
               host("ranks", Presence::implied,
                    "Several processes, started by torchrun, srun or mpirun", read_schema(kRanks)),
               component("eval", GH_KIND_EVALUATOR, Presence::list,
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
