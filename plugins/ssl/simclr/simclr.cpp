// SimCLR (Chen et al. 2020): two views, NT-Xent over all other samples of the global batch; with
// the factor of the focal loss (Lin et al. 2017); and with a temperature that swings (TS, Kukleva
// et al. 2023).
#include "gh/component.hpp"
#include "gh/parts/contrastive.hpp"
#include "gh/schedule.hpp"
#include "gh/two_view.hpp"

namespace {

class Simclr : public gh::TwoViewMethod {
 public:
  explicit Simclr(const gh::Params& params) : Simclr(params, {params.real("temperature")}) {}

  void check(const gh::RunFacts& facts, gh::Complaints& out) const override {
    TwoViewMethod::check(facts, out);
    gh::parts::require_two_samples(facts, out, "NT-Xent needs negatives");
  }

  at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) final {
    return gh::parts::nt_xent(host(), z1, z2, options_);
  }

 protected:
  struct Shape {
    double temperature;
    double exponent = 0;
  };
  Simclr(const gh::Params& params, Shape shape)
      : TwoViewMethod(params),
        options_{.temperature = shape.temperature, .exponent = shape.exponent} {}
  void set_temperature(double temperature) { options_.temperature = temperature; }

 private:
  gh::ops::ContrastiveOptions options_;
};

// −(1 − p)^exponent · log p; the gradient passes through the factor, too.
class Focal final : public Simclr {
 public:
  explicit Focal(const gh::Params& params)
      : Simclr(params, {params.real("temperature"), params.real("exponent")}) {}
};

// One temperature an epoch, for positives and negatives alike. A function of the epoch, which
// counts from 1: nothing to remember.
class TemperatureSchedule final : public Simclr {
 public:
  explicit TemperatureSchedule(const gh::Params& params)
      : Simclr(params, {params.real("temperature_max")}),
        low_(params.real("temperature_min")),
        high_(params.real("temperature_max")),
        period_(params.real("period")) {}

  static void validate(const gh::Params& params, gh::Complaints& out) {
    if (params.real("temperature_min") > params.real("temperature_max"))
      out.add("temperature_min", "must not be above temperature_max");
  }

  void step(const gh::Batch& batch, gh::Step& step) override {
    const double epoch = static_cast<double>(host().progress().epoch) + 1;
    const double temperature = gh::cosine_temperature(low_, high_, epoch, period_ / 2);
    set_temperature(temperature);
    host().log("temperature", temperature);
    TwoViewMethod::step(batch, step);
  }

 private:
  double low_, high_, period_;
};

constexpr gh::Param kSimclrParams[] = {GH_NT_XENT_PARAMS};
constexpr gh::Param kFocalParams[] = {
    gh::real("exponent", "2.0", "exponent of the factor 1 - p").at_least(0),
    GH_NT_XENT_PARAMS,
};
constexpr gh::Param kTsParams[] = {
    gh::real("temperature_min", "0.1", "at half a period: samples are told apart").above(0),
    gh::real("temperature_max", "1.0", "at the start: groups form").above(0),
    gh::real("period", "400.0", "of the cosine between the two").above(0).in("epochs"),
    GH_PROJECTOR_PARAMS,
};

constexpr gh::ComponentFacts facts(const char* paper) {
  return {.paper = paper,
          .views = "2",
          .state = "encoder, projector",
          .ranks = "embeddings: negatives are those of all ranks"};
}

constexpr gh::Component kComponents[] = {
    gh::describe<Simclr>("simclr", "SimCLR: NT-Xent between two views of each sample",
                         kSimclrParams)
        .with_facts(facts("Chen et al., ICML 2020")),
    gh::describe<Focal>(
        "focal", "SimCLR with the focal loss: anchors already told apart count less", kFocalParams)
        .with_facts(facts("after Lin et al., ICCV 2017")),
    gh::describe<TemperatureSchedule>("ts", "SimCLR with a temperature that swings by epochs",
                                      kTsParams)
        .with_facts(facts("Kukleva et al., ICLR 2023")),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .authors = "the ghhost authors",
          .doc =
              "SimCLR (Chen et al., ICML 2020), the base method of Geometric Harmonization, its "
              "focal form, and temperature schedules")
