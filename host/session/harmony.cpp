#include "session/harmony.hpp"

#include "harmonize/given_prior.hpp"
#include "pictures/harmony_pictures.hpp"
#include "recipe/placed_complaints.hpp"
#include "session/assembly.hpp"
#include "session/preflight.hpp"

#include "gh/error.hpp"

namespace gh::host {
namespace {

// Points of unit length, the same on all ranks.
at::Tensor points_of(Assembly& run, int64_t width) {
  const Made<Structure>& structure = run.components.structure;
  at::Tensor points = structure.call("points", &Structure::points, width,
                                     Random(stream_key(run.plan.seed, "harmonize.structure")));
  require(points.defined() && points.dim() == 2 && points.size(1) == width && points.size(0) >= 2,
          ErrorCode::shape, "the structure must give at least two points of width ", width);
  run.certificate = certify(points, structure.call("best_cosine", &Structure::best_cosine, width));
  require(run.certificate.norm_error < 1e-6, ErrorCode::numeric,
          "the structure's points are not of unit length: off by ", run.certificate.norm_error);
  run.process.ranks->broadcast({&points, 1});  // machines may round differently
  return points;
}

at::Tensor given_prior(const Assembly& run, int64_t points, Diagnostics& problems) {
  const PriorSource& source = *run.plan.given_prior;
  const bool of_classes = source.file.empty();
  try {
    if (!of_classes) return read_prior(source.file, points);
    require(run.classes().defined(), ErrorCode::invalid_param, "the data have no classes");
    return oracle_prior(run.train.class_counts(), points, source.temperature);
  } catch (const Error& error) {
    const std::string key = of_classes ? "harmonize.prior.id" : "harmonize.prior.file";
    problems.error(locate(run.recipe.resolved, key), key, error.what());
    return {};
  }
}

}  // namespace

void build_harmonizer(Assembly& run, int64_t width, Diagnostics& problems) {
  const Made<Structure>& structure = run.components.structure;
  const Made<Allocator>& allocator = run.components.allocator;
  PlacedComplaints complaints(run.recipe, structure.slot, problems);
  structure.call("check", &Structure::check, width, complaints);
  if (problems.has_errors()) return;
  const at::Tensor points = points_of(run, width);
  const int64_t rows = run.plan.batch / run.plan.accumulate;  // of all ranks, that assign() sees
  AllocatorFacts facts{
      .points = points.size(0), .width = width, .batch = rows, .samples = run.train.size()};
  if (allocator.sees_labels && run.train.class_counts().defined())
    facts.classes = run.train.class_counts().size(0);
  facts.differentiable = run.plan.harmonize->targets == HarmonizePlan::Targets::joint;
  check_allocator(run.recipe, allocator, facts, problems);
  run.notebook.facts.harmonize_points = facts.points;

  HarmonizePlan plan = *run.plan.harmonize;
  plan.learnable = structure.call("learnable", &Structure::learnable);
  plan.allocator_name = allocator.name;
  if (run.plan.given_prior) plan.given_prior = given_prior(run, points.size(0), problems);
  if (const std::string text = coverage_warning(points.size(0), rows); !text.empty())
    run.log.say(Severity::warning, text);
  run.harmonizer.emplace(
      plan, points, *allocator,
      Harmonizer::Labels{
          .for_allocator = allocator.sees_labels ? run.train.targets() : at::Tensor(),
          .for_statistics = run.classes()},
      run.train.size(), at::TensorOptions(run.plan.dtype).device(run.process.device),
      [&run](std::string_view name, double value) { run.notebook.metrics.add(name, value); });
  if (run.plan.world > 1)
    run.harmonizer->share(run.process.ranks->rank(), [&run](const at::Tensor& part) {
      return run.process.ranks->all_gather(part);
    });
}

void write_harmony(const Assembly& run, RunDirectory& directory, int64_t epochs, bool harmonized) {
  if (!run.harmonizer) return;
  nlohmann::ordered_json metrics = nlohmann::ordered_json::array();
  const auto metric = [&](const char* name, double value, const char* definition) {
    metrics.push_back({{"name", name}, {"value", json_number(value)}, {"definition", definition}});
  };
  const SurrogateStatistics now = run.harmonizer->statistics();
  metric("points_effective", now.effective,
         "exp of the entropy of the shares of samples: as many points, were all equal");
  metric("points_dead", static_cast<double>(now.dead), "points to which no sample leans");
  metric("prior_tv_uniform", now.prior_from_uniform.total_variation,
         "total variation between the prior and a uniform one, 0 … 1");
  if (now.has_classes) {
    metric("prior_tv_classes", now.prior_from_classes.total_variation,
           "total variation between the prior and the class sizes, both sorted, half a sample "
           "added to each entry");
    metric("surrogate_nmi", now.agreement.nmi_arithmetic,
           "mutual information of the samples' points and classes over the arithmetic mean of "
           "both entropies; points by the momentum table, training set");
    metric("surrogate_purity", now.agreement.purity,
           "share of samples whose class is the commonest one at their point");
  }
  std::vector<RunDirectory::Picture> pictures;
  for (HarmonyPicture& p : draw_harmony(*run.harmonizer, run.classes()))
    pictures.push_back(
        {std::move(p.name), std::move(p.caption), std::move(p.mime), std::move(p.bytes)});
  directory.write_result({{"evaluator", "harmonize"},
                          {"slot", "harmonize"},
                          {"moment", "end"},
                          {"epoch", epochs},
                          {"label", label_of(run.components.method, harmonized)},
                          {"data", run.train.fingerprint()},
                          {"seed", run.plan.seed},
                          {"metrics", metrics}},
                         pictures);
}

}  // namespace gh::host
