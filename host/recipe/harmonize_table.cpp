// [harmonize]: what the GH loss does.
#include "recipe/table_parts.hpp"

namespace gh::host {
namespace {

using Presence = TableSpec::Presence;

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
    gh::real("momentum", "0.999", "momentum of what is tracked")
        .at_least(0)
        .below(1)
        .in("per epoch"),
    gh::real("warm_up_momentum", "0.9", "momentum of what is tracked during the warm-up")
        .at_least(0)
        .below(1)
        .in("per epoch"),
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

}  // namespace

TableSpec harmonize_table() {
  TableSpec prior = tagged_table(
      "prior", "tracked", "Shares of the samples that the points are to receive",
      {{"tracked", "as the samples are found to lean", read_schema(kTrackedPrior)},
       {"uniform", "the same for all", {}},
       {"oracle", "the class sizes, which training should not know", read_schema(kOraclePrior)},
       {"file", "given", read_schema(kFilePrior)}});
  TableSpec out = host_table("harmonize", Presence::optional,
                             "Geometric Harmonization; without the table the plain method runs",
                             read_schema(kHarmonize),
                             {component_table("structure", GH_KIND_STRUCTURE, Presence::required,
                                              "Points the samples are drawn to"),
                              component_table("allocator", GH_KIND_ALLOCATOR, Presence::required,
                                              "Which sample goes to which point"),
                              std::move(prior)});
  out.expand = expand_mode;
  return out;
}

}  // namespace gh::host
