// SSL methods: two training steps of two epochs of each stage, on random views under a fake host;
// then again in the ways in which runs differ.
#include "plugins/ssl_trial.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace gh::host {
namespace {

// In stage `number`, into which `fresh` is resumed.
void check_state(SslTrial& trained, SslTrial& fresh, std::size_t number, Findings& out) {
  out.part("visit_state");
  const StateMap saved = trained.save(out);
  for (std::size_t k = 0; k < trained.trainables.parameters.size(); ++k)
    out.expect(saved.visited(trained.trainables.parameters[k]),
               fmt::format("expected every trainable to be visited, found number {}, {}, left out",
                           k, describe(trained.trainables.parameters[k])));
  fresh.build(out);
  fresh.begin_stage(number, out);
  out.part("visit_state, loading");
  fresh.load(saved, out);
  const std::string difference = saved.difference(fresh.save(out));
  out.expect(difference.empty(), "expected the state that was saved, found that " + difference,
             "visit_state() takes another way when state.loading()");
}

void check_embedding(SslTrial& t, Findings& out) {
  out.part("train(false)");
  const at::NoGradGuard no_grad;
  t.method->train(false);
  const auto training = t.host->in_train_mode();
  if (!training.empty())
    out.violation(
        fmt::format("expected every network in evaluation mode, found {} in train mode",
                    fmt::join(training.begin(),
                              training.begin() + std::min<long>(2, training.size()), " and ")),
        "train() forgets a twin, a predictor or a head");
  out.part("embed");
  const at::Tensor x = t.host->views_of(0, 5, 99);
  const at::Tensor z = t.method->embed(x.narrow(0, 0, 3));
  const bool shaped =
      z.defined() && z.dim() == 2 && z.size(0) == 3 && z.size(1) == t.method->embedding_width();
  if (!out.expect(shaped && all_finite(z), fmt::format("expected finite [3, {}], found {}",
                                                       t.method->embedding_width(), describe(z))))
    return;
  if (training.empty())
    out.expect(
        t.method->embed(x).narrow(0, 0, 3).allclose(z, 1e-4, 1e-5),
        "expected an embedding that does not depend on the rest of the batch, found one that "
        "does",
        "batch statistics are used in evaluation mode");
}

void check_clone(SslTrial& t, Findings& out) {
  out.part("clone_encoder");
  const at::NoGradGuard no_grad;
  const auto encoder = t.method->encoder(), clone = t.method->clone_encoder(*t.host);
  if (!out.expect(encoder && clone && encoder != clone,
                  "expected an encoder of its own, found none"))
    return;
  encoder->train(false);
  clone->train(false);
  const at::Tensor x = t.host->views_of(0, 3, 100);
  out.expect(clone->forward(x).allclose(encoder->forward(x), 1e-4, 1e-5),
             "expected the features of encoder(), found others",
             "the copy lacks the weights or the running statistics");
}

// Weights of a plain encoder go in and come out again.
void check_loading(SslTrial& trained, SslTrial& fresh, Findings& out) {
  out.part("load_encoder");
  void* const loader = fresh.method->query(EncoderLoader::kId);
  if (loader == nullptr) return;
  const auto plain = trained.method->clone_encoder(*trained.host);
  static_cast<EncoderLoader*>(loader)->load_encoder(*plain);
  const at::NoGradGuard no_grad;
  const auto copy = fresh.method->clone_encoder(*fresh.host);
  plain->train(false);
  copy->train(false);
  const at::Tensor x = trained.host->views_of(0, 3, 101);
  out.expect(copy->forward(x).allclose(plain->forward(x), 1e-4, 1e-5),
             "expected clone_encoder() to give back what was loaded, found other features");
}

// Twice the same, the second time with a scaled loss, which the optimiser must not notice.
void check_again(SslTrial& first, const Make<SslMethod>& make, const RunFacts& facts,
                 uint32_t flags, Findings& out) {
  const auto difference = [&](double loss_scale) {
    SslTrial again(facts, make(), flags, {.loss_scale = loss_scale});
    again.train(out);
    out.part("same seed again");
    if (first.losses != again.losses) return std::string("the losses differ");
    return first.save(out).difference(again.save(out));
  };
  const std::string scaled = difference(1024);
  if (scaled.empty()) return out.tried("the same run twice, once with a scaled loss");
  const std::string plain = difference(1);
  if (!plain.empty())
    return out.violation("expected the same run from the same seed, found that " + plain,
                         "mutable statics, addresses, time, or order of an unordered container");
  out.part("step");
  out.violation(
      "expected gradients to be left alone inside step(), found that with a scaled loss " + scaled,
      "reads .grad or calls loss.backward() itself; gradients are the method's after "
      "reduce_gradients() and in before_update()");
}

// GH as a projector: the loss compares [B, points].
void check_projector(const Make<SslMethod>& make, RunFacts facts, uint32_t flags, Findings& out) {
  const auto method = make();
  if (method->query(kProjects) == nullptr) return;
  facts.harmonize_apply = "projector";
  if (!complaints_of(*method, facts, out).empty()) return;
  SslTrial trial(facts, make(), flags);
  trial.build(out);
  at::Tensor points = at::empty({trial.method->embedding_width(), 5}, at::kFloat);
  Random(8).fill_normal(points, 0, 1);
  SslTrial projecting(facts, make(), flags, {.points = points.requires_grad_(true)});
  projecting.train(out);
  out.tried("GH as a projector");
}

// A last batch that is not full; the recipe leaves it in unless train.drop_last says otherwise.
void check_short_batch(const Make<SslMethod>& make, RunFacts facts, uint32_t flags, Findings& out) {
  facts.drop_last = false;
  if (!complaints_of(*make(), facts, out).empty()) return;
  SslTrial trial(facts, make(), flags);
  trial.build(out);
  for (std::size_t stage = 0; stage < trial.stages(); ++stage) {
    if (stage > 0) trial.method->end_stage(*trial.host);
    trial.begin_stage(stage, out);
    if (!trial.trains(stage)) continue;
    trial.set_length(out);
    trial.method->begin_epoch(*trial.host);
    trial.step(0, out);
    trial.step(1, out, 5);
    trial.method->end_epoch(*trial.host);
  }
  out.tried("a short last batch");
}

void check_double(const Make<SslMethod>& make, RunFacts facts, uint32_t flags, Findings& out) {
  facts.dtype = at::kDouble;
  if (!complaints_of(*make(), facts, out).empty()) return;
  SslTrial trial(facts, make(), flags);
  trial.train(out);
  out.tried("float64");
}

void check_accumulation(const Make<SslMethod>& make, RunFacts facts, uint32_t flags,
                        Findings& out) {
  facts.accumulate = 2;
  if (!complaints_of(*make(), facts, out).empty()) return;
  SslTrial trial(facts, make(), flags);
  trial.train(out);
  out.tried("accumulation");
}

// check() must refuse what step() cannot do.
void check_views(const Make<SslMethod>& make, const RunFacts& good, uint32_t flags, Findings& out) {
  for (const std::size_t views : {1, 3}) {
    RunFacts facts = good;
    facts.view_shapes.assign(views, {3, 16, 16});
    if (views == good.view_shapes.size() || !complaints_of(*make(), facts, out).empty()) continue;
    SslTrial trial(facts, make(), flags);
    out.attempt("check", [&] {
      try {
        trial.build(out);
        trial.begin_stage(0, out);
        if (!trial.trains(0)) return;
        trial.set_length(out);
        trial.method->begin_epoch(*trial.host);
        trial.step(0, out);
      } catch (...) {
        const std::string thrown = thrown_now();
        out.part("check");
        out.violation(fmt::format("expected a complaint about {} view{}, found none, and step() "
                                  "threw {}",
                                  views, views == 1 ? "" : "s", thrown),
                      "check() does not look at facts.view_shapes.size()");
      }
    });
  }
}

// Facts that no method can do much with must be complained about, not thrown at.
void check_refusals(const SslMethod& method, uint32_t, const RunFacts& good, Findings& out) {
  for (const int64_t samples : {1, 16}) {
    RunFacts facts = good;
    facts.samples = samples;
    facts.batch = samples;
    facts.steps_per_epoch = 1;
    facts.epochs = 1;
    complaints_of(method, facts, out);
  }
}

}  // namespace

void check_ssl(const Make<SslMethod>& make, uint32_t flags, Findings& out) {
  out.part("check");
  std::string refusal;
  const auto facts = acceptable_facts(*make(), flags, out, refusal);
  if (!facts) return out.remark("NOT TRIED: refuses every trial run: " + refusal);
  out.attempt(
      "check", [&] { check_refusals(*make(), flags, *facts, out); },
      "complain with out.add() instead of throwing");

  RunFacts other = *facts;
  other.seed += 1;
  SslTrial first(*facts, make(), flags);
  const bool sound = out.attempt("build", [&] {
    first.train(out, [&](std::size_t stage) {
      SslTrial fresh(other, make(), flags);
      check_state(first, fresh, stage, out);
    });
    if (!facts->harmonized) return;
    out.part("step");
    out.expect(first.harmonized, "expected a call of Step::harmonize(), found none",
               "the loss lacks + step.harmonize(z1, z2), so that [harmonize] would change nothing; "
               "a method without it complains in check() where facts.harmonized");
  });
  out.tried(fmt::format("{} view{}, {} steps of two epochs of each stage",
                        facts->view_shapes.size(), facts->view_shapes.size() == 1 ? "" : "s",
                        SslTrial::kSteps));
  if (!first.method->encoder()) return;
  out.attempt("embed", [&] { check_embedding(first, out); });
  out.attempt("clone_encoder", [&] {
    check_clone(first, out);
    SslTrial empty(other, make(), flags);
    empty.build(out);
    empty.begin_stage(0, out);
    check_loading(first, empty, out);
  });
  if (!sound) return out.remark("other ways of running were not tried: mend this first");
  if (flags & GH_NONDETERMINISTIC)
    out.remark("not tried: the same seed again, a resumed run; it is declared nondeterministic");
  else if (out.attempt("same seed again", [&] { check_again(first, make, *facts, flags, out); }))
    out.attempt("visit_state", [&] { check_resuming(make, *facts, flags, out); });
  out.attempt("ranks", [&] { check_ranks(make, *facts, flags, out); });
  out.attempt("projector", [&] { check_projector(make, *facts, flags, out); });
  out.attempt(
      "short last batch", [&] { check_short_batch(make, *facts, flags, out); },
      "the batch is taken to be full; or complain where !facts.drop_last");
  out.attempt(
      "float64", [&] { check_double(make, *facts, flags, out); },
      "a tensor was made without host.facts().dtype");
  out.attempt(
      "accumulation", [&] { check_accumulation(make, *facts, flags, out); },
      "complain where facts.accumulate > 1");
  out.attempt("check", [&] { check_views(make, *facts, flags, out); });
  out.part("");
  out.remark("not tried: CUDA, more than two ranks, networks other than a small one");
}

}  // namespace gh::host
