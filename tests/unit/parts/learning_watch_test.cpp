// What every method logs of its embeddings, and what it says of a collapse.
#include "support/method_trial.hpp"

#include "gh/parts/learning_watch.hpp"

#include <ATen/ops/eye.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>

namespace {

using namespace gh;
using test::TrialHost;

// Looks from the middle of a run of ten epochs of eight steps on.
struct Watched {
  TrialHost host{test::MethodTrial::facts_of({at::zeros({4, 2})}), 2};
  parts::LearningWatch watch{"Try another."};

  Watched() {
    host.progress().epochs = 10;
    host.progress().steps = 80;
    host.progress().step = 40;
  }
  void see(const at::Tensor& z1, const at::Tensor& z2) { watch.see(host, at::ones({}), z1, z2); }
  void see_next(const at::Tensor& z) {
    host.progress().step += 4;
    see(z, z);
  }
  double value(const std::string& name) const { return host.values.at(name).back(); }
};

TEST_CASE("what is logged of embeddings are the numbers of a simplex, whatever their length") {
  // Rows of the identity: distances √2, centred singular values all 1 but one that is 0.
  Watched w;
  const at::Tensor z = at::eye(6) * 7;
  w.see(z, -z);
  CHECK(w.value("loss_base") == 1.0);
  CHECK(w.value("unit_std") == Approx(std::sqrt(5.0 / 6)).epsilon(1e-12));
  CHECK(w.value("effective_rank") == Approx(5).epsilon(1e-9));
  CHECK(w.value("alignment") == Approx(4).epsilon(1e-12));
  CHECK(w.value("uniformity") == Approx(-4).epsilon(1e-12));
  CHECK(w.host.said.empty());
}

TEST_CASE("uniformity is that of pairs, and the rank that of rows, tall or wide") {
  for (const auto& [n, d] : {std::pair<int64_t, int64_t>{20, 3}, {6, 30}}) {
    Watched w;
    const at::Tensor z = at::randn({n, d}, at::kDouble), u = z / z.norm(2, {1}, true);
    w.see(z, z);
    double sum = 0;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        if (i != j) sum += std::exp(-2 * (u[i] - u[j]).square().sum().item<double>());
    CHECK(w.value("uniformity") ==
          Approx(std::log(sum / static_cast<double>(n * (n - 1)))).epsilon(1e-9));
    CHECK(w.value("effective_rank") <= static_cast<double>(std::min(n - 1, d)) + 1e-9);
    CHECK(w.value("effective_rank") > 1);
    CHECK_FALSE(w.host.values.contains("alignment"));  // one view
  }
}

TEST_CASE("embeddings are looked at twice an epoch, losses always") {
  Watched w;
  for (int64_t step = 0; step < 80; ++step) {
    w.host.progress().step = step;
    w.see(at::randn({8, 3}), at::randn({8, 3}));
  }
  CHECK(w.host.values.at("loss_base").size() == 80);
  CHECK(w.host.values.at("uniformity").size() == 20);
}

TEST_CASE("a collapse that lasts is said once, to a point or to a line, and not at the start") {
  const at::Tensor noise = at::randn({16, 8}, at::kDouble);
  const at::Tensor point = at::ones({16, 8}, at::kDouble) + 0.01 * noise;
  const at::Tensor line = noise.narrow(1, 0, 1) * at::ones({1, 8}, at::kDouble) + 0.003 * noise;
  for (const auto& [z, word] :
       {std::pair<at::Tensor, std::string>{point, "almost the same"}, {line, "on a line"}}) {
    Watched w;
    w.see(noise, noise);
    w.see_next(z);
    CHECK(w.host.said.empty());
    w.see_next(z);
    CHECK(w.host.said.find(word) != std::string::npos);
    CHECK(w.host.said.find("Try another.") != std::string::npos);
    const std::string once = w.host.said;
    w.see_next(z);
    CHECK(w.host.said == once);
    Watched early;
    early.host.progress().step = -4;
    for (int i = 0; i < 2; ++i) early.see_next(z);
    CHECK(early.host.said.empty());
  }
}

TEST_CASE("the parts of an accumulated batch are one look, in every stage") {
  const at::Tensor point = at::ones({8, 3}) + 0.01 * at::randn({8, 3});
  Watched w;
  for (int part = 0; part < 4; ++part) w.see(point, point);
  CHECK(w.host.said.empty());
  CHECK(w.host.values.at("loss_base").size() == 4);
  CHECK(w.host.values.at("uniformity").size() == 1);
  ++w.host.progress().stage_index;
  w.see(point, point);
  CHECK(w.host.values.at("uniformity").size() == 2);
}

TEST_CASE("embeddings that are not finite are left to the host") {
  Watched w;
  at::Tensor z = at::randn({8, 3});
  z[0][0] = std::numeric_limits<float>::quiet_NaN();
  w.see(z, z);
  CHECK_FALSE(w.host.values.contains("effective_rank"));
}

}  // namespace
