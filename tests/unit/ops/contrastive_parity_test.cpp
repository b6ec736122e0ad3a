// Contrastive losses against the numbers of published implementations.
#include "gh/ops/contrastive.hpp"

#include "support/vectors.hpp"

#include "gh/rows.hpp"

#include <torch/csrc/autograd/autograd.h>

#include <catch2/catch.hpp>

#include <string>
#include <utility>

namespace {

TEST_CASE("nt_xent and its focal form equal the published values", "[parity]") {
  for (const auto& [name, exponent] :
       {std::pair("gh_ntxent", 0.0), std::pair("gh_focal_ntxent", 2.0)}) {
    const auto file = gh::test::find_vector(name);
    if (!file) continue;
    for (const std::string& t : gh::test::endings(*file, "mean_t")) {
      if (t.ends_with("_f64")) continue;
      const at::Tensor z1 = file->at("z1").to(at::kDouble).clone().set_requires_grad(true),
                       z2 = file->at("z2").to(at::kDouble).clone().set_requires_grad(true);
      const double e = exponent > 0 ? gh::test::number(*file, "focal_exponent") : 0;
      const at::Tensor losses = gh::ops::nt_xent(gh::unit_rows(z1), gh::unit_rows(z2),
                                                 {.temperature = std::stod(t), .exponent = e});
      CAPTURE(name, t);
      CHECK(gh::test::largest_difference(losses.detach(), file->at("per_sample_t" + t + "_f64")) <
            1e-9);
      const auto g = torch::autograd::grad({losses.mean()}, {z1, z2});
      CHECK(gh::test::largest_difference(g[0], file->at("dz1_t" + t + "_f64")) < 1e-9);
      CHECK(gh::test::largest_difference(g[1], file->at("dz2_t" + t + "_f64")) < 1e-9);
    }
  }
}

TEST_CASE("info_nce equals MoCo v3's loss", "[parity]") {
  const auto file = gh::test::find_vector("mocov3_loss");
  if (!file) return;
  for (const std::string& t : gh::test::endings(*file, "dq1_T")) {
    if (t.ends_with("_f64")) continue;
    const double temperature = std::stod(t);
    const auto read = [&](const char* name) { return file->at(name).to(at::kDouble).clone(); };
    const at::Tensor q1 = read("q1").set_requires_grad(true),
                     q2 = read("q2").set_requires_grad(true);
    const auto half = [&](const at::Tensor& q, const at::Tensor& k) {
      return 2 * temperature *
             gh::ops::info_nce(gh::unit_rows(q), gh::unit_rows(k), 0, {.temperature = temperature})
                 .mean();
    };
    const at::Tensor loss = half(q1, read("k2")) + half(q2, read("k1"));
    const auto g = torch::autograd::grad({loss}, {q1, q2});
    CAPTURE(t);
    CHECK(loss.item<double>() ==
          Approx(file->at("loss_T" + t + "_f64").item<double>()).margin(1e-9));
    CHECK(gh::test::largest_difference(g[0], file->at("dq1_T" + t + "_f64")) < 1e-9);
    CHECK(gh::test::largest_difference(g[1], file->at("dq2_T" + t + "_f64")) < 1e-9);
  }
}

TEST_CASE("info_nce_with_queue equals MoCo v2's loss", "[parity]") {
  const auto file = gh::test::find_vector("mocov2_queue");
  if (!file) return;
  const auto read = [&](const char* name) { return file->at(name).to(at::kDouble); };
  const double momentum = gh::test::number(*file, "momentum");
  const at::Tensor loss = read("loss_f64"), dq = read("dq_raw_f64"), inputs = read("x_k"),
                   key_weights = read("Wk_after_f64"), after = read("queue_after_f64");
  at::Tensor queue = read("queue"), bias = read("bk");
  for (int64_t step = 0; step < loss.size(0); ++step) {
    bias = momentum * bias + (1 - momentum) * read("bq");
    const at::Tensor keys = gh::unit_rows(inputs[step].matmul(key_weights[step].t()) + bias);
    const at::Tensor q = read("q_raw_f64")[step].clone().set_requires_grad(true);
    const at::Tensor found =
        gh::ops::info_nce_with_queue(gh::unit_rows(q), keys, queue.t(),
                                     {.temperature = gh::test::number(*file, "temperature")})
            .mean();
    CAPTURE(step);
    CHECK(found.item<double>() == Approx(loss[step].item<double>()).margin(1e-9));
    const at::Tensor gradient = torch::autograd::grad({found}, {q})[0];
    CHECK(gh::test::largest_difference(gradient, dq[step]) < 1e-9);
    queue = after[step];
  }
}

}  // namespace
