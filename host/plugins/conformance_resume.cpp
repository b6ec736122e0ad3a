// What a method forgets shows in a run that is stopped in the middle of an epoch: begin_epoch() is
// not repeated there, and what it made has to come from the state.
#include "plugins/ssl_trial.hpp"

#include <ATen/core/grad_mode.h>

namespace gh::host {
namespace {

// A method of the same seed that loaded `saved`, where `trained` stands.
std::unique_ptr<SslTrial> resumed(const SslTrial& trained, const Make<SslMethod>& make,
                                  std::size_t stage, uint32_t flags, const StateMap& saved,
                                  Findings& out) {
  auto fresh = std::make_unique<SslTrial>(trained.host->facts(), make(), flags);
  fresh->build(out);
  fresh->begin_stage(stage, out);
  fresh->load(saved, out);
  fresh->set_length(out);
  fresh->host->progress() = std::as_const(*trained.host).progress();
  return fresh;
}

// Trains on; the losses from here, and the state at the end.
std::pair<std::vector<double>, StateMap> go_on(SslTrial& trial, Findings& out) {
  trial.losses.clear();
  for (int64_t i = 0; i < SslTrial::kSteps; ++i) trial.step(2 * SslTrial::kSteps + i, out);
  return {trial.losses, trial.save(out)};
}

// What evaluators and exports would see of it.
at::Tensor shown(SslTrial& trial) {
  const at::NoGradGuard no_grad;
  trial.method->train(false);
  const at::Tensor features = trial.method->encoder()->forward(trial.host->views_of(0, 3, 102));
  trial.method->train(true);
  return features;
}

void check_stage(SslTrial& trained, const Make<SslMethod>& make, std::size_t stage, uint32_t flags,
                 Findings& out) {
  const StateMap saved = trained.save(out);
  const auto fresh = resumed(trained, make, stage, flags, saved, out);
  const auto again = resumed(trained, make, stage, flags, saved, out);
  out.part("visit_state");
  out.expect(
      identical(shown(trained), shown(*fresh)),
      "expected encoder() of a method that loaded the state to have the same features, found "
      "others",
      "the network that evaluators see (a teacher) is not in visit_state()");
  out.part("stage_samples");
  out.expect(identical(trained.method->stage_samples(), fresh->method->stage_samples()),
             "expected the same samples from a method that loaded the state, found others",
             "what chose them is not in visit_state()");
  // Two lives of the same class: what it keeps in statics is found elsewhere.
  std::string thrown;
  std::pair<std::vector<double>, StateMap> there;
  try {
    there = go_on(*fresh, out);
  } catch (...) {
    thrown = thrown_now();
  }
  const auto here = go_on(trained, out);
  std::string difference;
  if (!thrown.empty())
    difference = "step() threw " + thrown;
  else if (here.first != there.first)
    difference = "the loss differs";
  else
    difference = here.second.difference(there.second);
  if (difference.empty()) return;
  // Does begin_epoch() make what is missing?
  bool epoch_makes_it = false;
  try {
    gh::Progress& now = again->host->progress();
    now.step -= SslTrial::kSteps;  // where the epoch began
    again->method->begin_epoch(*again->host);
    now.step += SslTrial::kSteps;
    epoch_makes_it = go_on(*again, out).first == here.first;
  } catch (...) {
  }
  out.part("visit_state");
  out.violation(
      "expected a run that is resumed inside an epoch to go on as if it had not been "
      "stopped, found that " +
          difference,
      epoch_makes_it ? "what begin_epoch() makes (masks, labels) is not in visit_state(); "
                       "it is not called again on resume"
                     : "something that steps leave for later ones (a queue, a twin, a "
                       "counter, a running mean) is not in visit_state()");
}

}  // namespace

void check_resuming(const Make<SslMethod>& make, const RunFacts& facts, uint32_t flags,
                    Findings& out) {
  SslTrial trained(facts, make(), flags);
  trained.train(out, [&](std::size_t stage) { check_stage(trained, make, stage, flags, out); });
  out.tried("saved and resumed inside an epoch");
}

}  // namespace gh::host
