#include "optimize/optimizer.hpp"

#include "optimize/gradient_norm.hpp"
#include "optimize/loss_scaler.hpp"
#include "plan/plan.hpp"
#include "recipe/recipe.hpp"
#include "recipe/schema.hpp"
#include "recipe/toml.hpp"
#include "support/vectors.hpp"
#include "train/state_archive.hpp"

#include "gh/error.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <functional>
#include <limits>
#include <optional>

namespace {

using namespace gh;
using namespace gh::host;

// Minimises (x − 3)²/2 from x = 1 and returns x after each step.
std::vector<double> descend(Optimizer& optimizer, at::Tensor x, int steps, double rate) {
  std::vector<double> path;
  for (int i = 0; i < steps; ++i) {
    optimizer.zero_grad();
    ((x - 3) * (x - 3) / 2).sum().backward();
    optimizer.step(rate);
    path.push_back(x.item<double>());
  }
  return path;
}

at::Tensor start() { return at::full({1}, 1.0, at::kDouble).set_requires_grad(true); }

TEST_CASE("sgd with momentum, decay and Nesterov follows the recurrence") {
  for (const bool nesterov : {false, true}) {
    const at::Tensor x = start();
    const auto sgd =
        make_sgd({{.tensor = x, .policy = Policy::normal, .rate = 1}},
                 {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01, .nesterov = nesterov});
    const std::vector<double> path = descend(*sgd, x, 5, 0.1);
    double value = 1, velocity = 0;
    for (int i = 0; i < 5; ++i) {
      const double gradient = value - 3 + 0.01 * value;
      velocity = i == 0 ? gradient : 0.9 * velocity + gradient;
      value -= 0.1 * (nesterov ? gradient + 0.9 * velocity : velocity);
      CHECK(path[i] == Approx(value).epsilon(1e-12));
    }
  }
}

TEST_CASE("adam follows the recurrence with bias correction") {
  const at::Tensor x = start();
  const auto adam = make_adam({{.tensor = x, .policy = Policy::normal, .rate = 1}}, {.lr = 0.01});
  const std::vector<double> path = descend(*adam, x, 6, 0.01);
  double value = 1, m = 0, v = 0;
  for (int i = 1; i <= 6; ++i) {
    const double g = value - 3;
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    value -= 0.01 * (m / (1 - std::pow(0.9, i))) / (std::sqrt(v / (1 - std::pow(0.999, i))) + 1e-8);
    CHECK(path[i - 1] == Approx(value).epsilon(1e-10));
  }
}

TEST_CASE("policies: no decay, fixed rate, rate factor") {
  const at::Tensor a = start(), b = start(), c = start();
  const auto sgd = make_sgd({{.tensor = a, .policy = Policy::no_decay, .rate = 1},
                             {.tensor = b, .policy = Policy::fixed_rate, .rate = 1},
                             {.tensor = c, .policy = Policy::normal, .rate = 10}},
                            {.lr = 0.5, .momentum = 0, .weight_decay = 0.1, .nesterov = false});
  for (const at::Tensor& t : {a, b, c}) t.sum().backward();
  sgd->step(0.01);
  CHECK(a.item<double>() == Approx(1 - 0.01 * 1));
  CHECK(b.item<double>() == Approx(1 - 0.5 * 1.1));
  CHECK(c.item<double>() == Approx(1 - 0.1 * 1.1));
}

TEST_CASE("an optimiser continues from its saved state as if never stopped") {
  const auto make = [](const at::Tensor& x) {
    return make_adam({{.tensor = x, .policy = Policy::normal, .rate = 1}}, {.lr = 0.01});
  };
  const at::Tensor whole = start();
  descend(*make(whole), whole, 8, 0.01);

  const at::Tensor first = start();
  const auto before = make(first);
  descend(*before, first, 3, 0.01);
  TensorFile file;
  StateSaver saver(file, "optimizer");
  before->visit_state(saver);
  const at::Tensor second = first.detach().clone().set_requires_grad(true);
  const auto after = make(second);
  StateLoader loader(file, "optimizer");
  after->visit_state(loader);
  descend(*after, second, 5, 0.01);
  CHECK(second.equal(whole));
}

// ---- against torch.optim ----

using Make = std::function<std::unique_ptr<Optimizer>(std::vector<OptimizedParameter>)>;

// Twenty steps from fixed values; the gradient of element i in step k is sin(k(i+1)) + 0.3x. With
// `skips`, every fifth step has none.
at::Tensor twenty_steps(const Make& make, const at::Tensor& place, double first_rate, bool skips) {
  const at::Tensor x = place.copy_(at::tensor({1.0, -2.0, 0.5, 3.0, 0.25, -1.5}).view({2, 3}));
  x.set_requires_grad(true);
  const auto optimizer = make({{.tensor = x}});
  const at::Tensor number = at::arange(1, 7, at::kDouble).view({2, 3});
  for (int k = 1; k <= 20; ++k) {
    optimizer->zero_grad();
    if (!skips || k % 5 != 0)
      x.mutable_grad() = at::sin(number * k).to(x.scalar_type()) + 0.3 * x.detach();
    optimizer->step(first_rate / k);
  }
  return x.detach().to(at::kDouble);
}

struct Peer {
  const char* name;
  double first_rate;
  Make make;
  std::vector<double> always, with_skips;  // torch 2.13.0
};

const std::vector<Peer>& peers() {
  static const auto sgd = [](SgdPlan plan) -> Make {
    return [plan](auto p) { return make_sgd(std::move(p), plan); };
  };
  static const auto adam = [](AdamPlan plan) -> Make {
    return [plan](auto p) { return make_adam(std::move(p), plan); };
  };
  static const std::vector<Peer> all = {
      {"SGD(lr)",
       0.1,
       sgd({.momentum = 0}),
       {0.7978600369940922, -1.849326302763718, 0.44260550602016324, 2.7330013027070295,
        0.30820043793234037, -1.224012389752716},
       {0.792804628272103, -1.877017406095082, 0.45518069354840957, 2.7854869320887703,
        0.30174116708272414, -1.2527093496665902}},
      {"SGD(lr, momentum=0.9)",
       0.1,
       sgd({.momentum = 0.9}),
       {0.4469267291424608, -1.3833373146153547, 0.31301388168949323, 2.0055784177300926,
        0.320944201940848, -0.5012832539132118},
       {0.43308945945908395, -1.5520002678234508, 0.37377744074730324, 2.31742095506944,
        0.331355976643159, -0.690281355554703}},
      {"SGD(lr, momentum=0.9, weight_decay=0.01)",
       0.1,
       sgd({.momentum = 0.9, .weight_decay = 0.01}),
       {0.4385719637141608, -1.3618659712958632, 0.307992670287019, 1.9740791716165282,
        0.31677140580616076, -0.48855640681366813},
       {0.4261767220573657, -1.5342966395964475, 0.36953970655331453, 2.2912804223700274,
        0.32804127456075344, -0.6790313533984579}},
      {"SGD(lr, momentum=0.9, weight_decay=0.01, nesterov=True)",
       0.1,
       sgd({.momentum = 0.9, .weight_decay = 0.01, .nesterov = true}),
       {0.347887334202783, -1.2973411607405843, 0.28250570969389505, 1.8573532399418695,
        0.34298730881507417, -0.3840913896796448},
       {0.3205674002116057, -1.4689496483928686, 0.345207348701968, 2.1739277640894015,
        0.3509978894638287, -0.5602356541808216}},
      {"Adam(lr)",
       0.05,
       adam({}),
       {0.8758878401884597, -1.9700382203709295, 0.41413852783647764, 2.8507217853341356,
        0.31806168592056794, -1.336258084251916},
       {0.8745768525898445, -1.9847046316861208, 0.4250920465960618, 2.8695601180679704,
        0.3195974664818995, -1.3518707242908239}},
      {"Adam(lr, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.02)",
       0.05,
       adam({.beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-6, .weight_decay = 0.02}),
       {0.8793140140782402, -1.9647882923738156, 0.4141104409058985, 2.847201798434973,
        0.31191137761675786, -1.3423784822012024},
       {0.8779331685398801, -1.9799355103522391, 0.4252736797990866, 2.8660589017265337,
        0.31352725542699494, -1.3556555195858226}},
      {"AdamW(lr, betas=(0.9, 0.99), weight_decay=0.1)",
       0.05,
       adam({.beta1 = 0.9, .beta2 = 0.99, .weight_decay = 0.1, .decoupled = true}),
       {0.859388377808337, -1.9346000878743634, 0.4064756201060945, 2.7987966189029656,
        0.31286103489811895, -1.3110552591426232},
       {0.8598015585532495, -1.9532040862257516, 0.4181494785152225, 2.8234279101601105,
        0.3150152469950161, -1.3293620571680183}},
  };
  return all;
}

at::Tensor as_matrix(const std::vector<double>& values) {
  return at::tensor(values, at::kDouble).view({2, 3});
}

TEST_CASE("twenty steps equal those of torch.optim", "[parity]") {
  for (const Peer& peer : peers()) {
    INFO(peer.name);
    const auto run = [&](const at::Tensor& place, bool skips) {
      return twenty_steps(peer.make, place, peer.first_rate, skips);
    };
    for (const bool skips : {false, true}) {
      const at::Tensor expected = as_matrix(skips ? peer.with_skips : peer.always);
      CHECK(test::largest_difference(run(at::empty({2, 3}, at::kDouble), skips), expected) < 1e-12);
      // Transposed: the gradient does not lie as the parameter does.
      CHECK(test::largest_difference(run(at::empty({3, 2}, at::kDouble).t(), skips), expected) <
            1e-12);
      // Every second column: not dense, so through operators on lists.
      CHECK(test::largest_difference(run(at::empty({2, 6}, at::kDouble).slice(1, 0, 6, 2), skips),
                                     expected) < 1e-12);
      CHECK(test::largest_difference(run(at::empty({2, 3}, at::kFloat), skips), expected) < 1e-5);
    }
  }
}

// ---- LARS ----

struct LarsRun {
  at::ScalarType dtype;
  bool filtered, dense;
};

// Largest difference from the vector over all steps and parameters.
double lars_difference(const TensorFile& file, const LarsRun& run) {
  const std::vector<std::string> names = test::endings(file, "init.");
  REQUIRE_FALSE(names.empty());
  std::vector<OptimizedParameter> parameters;
  for (const std::string& name : names) {
    const at::Tensor init = file.at("init." + name).to(run.dtype);
    at::Tensor x = init.clone();
    if (!run.dense) {
      std::vector<int64_t> wide = init.sizes().vec();
      wide.push_back(2);
      x = at::empty(wide, run.dtype).select(-1, 0).copy_(init);
    }
    const bool excluded = run.filtered && x.dim() < 2;
    parameters.push_back({.tensor = x.set_requires_grad(true),
                          .policy = excluded ? Policy::no_decay : Policy::normal});
  }
  const auto lars = make_lars(parameters, {.momentum = test::number(file, "momentum"),
                                           .weight_decay = test::number(file, "weight_decay"),
                                           .eta = test::number(file, "eta")});
  double worst = 0;
  for (int64_t s = 0; s < file.at("lr").size(0); ++s) {
    for (std::size_t i = 0; i < names.size(); ++i)
      parameters[i].tensor.mutable_grad() = file.at("grad." + names[i])[s].to(run.dtype);
    lars->step(file.at("lr")[s].item<double>());
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string key = (run.filtered ? "barlow." : "barlow_nofilter.") + names[i] +
                              (run.dtype == at::kDouble ? "_f64" : "");
      worst =
          std::max(worst, test::largest_difference(parameters[i].tensor.detach(), file.at(key)[s]));
    }
  }
  return worst;
}

TEST_CASE("LARS equals that of Barlow Twins and MoCo-v3", "[parity]") {
  const auto file = test::find_vector("lars");
  if (!file) return;
  for (const bool filtered : {true, false})
    for (const bool dense : {true, false}) {
      INFO("filtered " << filtered << ", dense " << dense);
      CHECK(lars_difference(*file, {at::kDouble, filtered, dense}) < 1e-12);
      CHECK(lars_difference(*file, {at::kFloat, filtered, dense}) < 1e-6);
    }
}

// ---- recipes ----

// An optimiser of the host's schema with every default that `keys` leaves out.
std::unique_ptr<Optimizer> from_recipe(const std::string& id, const std::string& keys,
                                       std::vector<OptimizedParameter> parameters) {
  Diagnostics out;
  Recipe recipe;
  const std::optional<Table> given = parse_toml(keys, "t.toml", out);
  for (const HostTable& table : host_tables()) {
    if (table.path != "train.optimizer" || table.schema.front().choices != std::vector{id})
      continue;
    const Table resolved = apply_schema(table.schema, *given, {}, table.path, {}, out);
    recipe.resolved = *parse_toml("[train.optimizer]\n" + to_toml(resolved), "t.toml", out);
  }
  REQUIRE(out.all().empty());
  return make_optimizer(read_optimizer(recipe), std::move(parameters));
}

TEST_CASE("recipes decide whether bias and norm decay, methods overrule them") {
  struct Case {
    std::string id, keys;
    Policy vector;
  };
  const std::vector<Case> cases = {
      {"sgd", "lr = 0.1", Policy::normal},
      {"sgd", "lr = 0.1\ndecay_bias_and_norm = false", Policy::no_decay},
      {"adam", "", Policy::normal},
      {"adamw", "decay_bias_and_norm = false", Policy::no_decay},
      {"lars", "lr = 0.1", Policy::no_decay},
      {"lars", "lr = 0.1\ndecay_bias_and_norm = true", Policy::normal},
  };
  for (const Case& c : cases) {
    INFO(c.id << " " << c.keys);
    const at::Tensor matrix = at::full({2, 2}, 1.0), vector = at::full({2}, 1.0);
    const auto optimizer = from_recipe(c.id, "id = \"" + c.id + "\"\n" + c.keys,
                                       {{.tensor = matrix},
                                        {.tensor = vector},
                                        {.tensor = vector, .policy = Policy::fixed_rate},
                                        {.tensor = matrix, .policy = Policy::no_decay}});
    const auto& parameters = optimizer->parameters();
    CHECK(parameters[0].policy == Policy::normal);
    CHECK(parameters[1].policy == c.vector);
    CHECK(parameters[2].policy == Policy::fixed_rate);
    CHECK(parameters[3].policy == Policy::no_decay);
  }
}

// ---- state, threads, versions ----

TEST_CASE("every optimiser continues from its saved state, whatever the parameter's layout") {
  for (const Peer& peer : peers()) {
    INFO(peer.name);
    const auto place = [](double value) {
      return (at::arange(6, at::kDouble).view({3, 2}) + value).t().set_requires_grad(true);
    };
    const at::Tensor whole = place(1), first = place(1), second = place(0);
    const auto steps = [](Optimizer& optimizer, at::Tensor x, int from, int to) {
      for (int k = from; k < to; ++k) {
        x.mutable_grad() = at::sin(x.detach() * k);
        optimizer.step(0.01);
      }
    };
    steps(*peer.make({{.tensor = whole}}), whole, 0, 8);
    const auto before = peer.make({{.tensor = first}});
    steps(*before, first, 0, 3);
    TensorFile file;
    StateSaver saver(file, "optimizer");
    before->visit_state(saver);
    for (auto& entry : file.tensors)
      entry.second = entry.second.contiguous();  // as a file holds it
    second.detach().copy_(first.detach());
    const auto after = peer.make({{.tensor = second}});
    StateLoader loader(file, "optimizer");
    after->visit_state(loader);
    steps(*after, second, 3, 8);
    CHECK(second.equal(whole));
  }
}

TEST_CASE("a moment of another shape is refused") {
  const at::Tensor x = start(), y = at::full({2}, 1.0, at::kDouble).set_requires_grad(true);
  const auto one = make_sgd({{.tensor = x}}, {}), other = make_sgd({{.tensor = y}}, {});
  x.mutable_grad() = at::full({1}, 1.0, at::kDouble);
  one->step(0.1);
  TensorFile file;
  StateSaver saver(file, "optimizer");
  one->visit_state(saver);
  StateLoader loader(file, "optimizer");
  CHECK_THROWS_WITH(other->visit_state(loader), Catch::Contains("velocity.0"));
}

TEST_CASE("a parameter without a gradient keeps value and momentum") {
  const at::Tensor x = start(), y = start();
  const auto sgd = make_sgd({{.tensor = x}, {.tensor = y}}, {.weight_decay = 0.1});
  x.mutable_grad() = at::full({1}, 1.0, at::kDouble);
  y.mutable_grad() = at::full({1}, 1.0, at::kDouble);
  sgd->step(0.1);
  const double moved = y.item<double>();
  y.mutable_grad().reset();
  sgd->step(0.1);
  CHECK(y.item<double>() == moved);
  y.mutable_grad() = at::full({1}, 1.0, at::kDouble);
  sgd->step(0.1);
  CHECK(y.item<double>() == Approx(moved - 0.1 * (0.9 * 1.1 + 1 + 0.1 * moved)).epsilon(1e-12));
}

TEST_CASE("autograd notices that a step has overwritten what it saved") {
  const at::Tensor x = start();
  const auto sgd = make_sgd({{.tensor = x}}, {});
  const at::Tensor loss = (x * x).sum();
  x.mutable_grad() = at::full({1}, 1.0, at::kDouble);
  sgd->step(0.1);
  CHECK_THROWS_WITH(loss.backward(), Catch::Contains("modified by an inplace operation"));
}

// Runs `work` on this many threads.
template <class Work>
auto on_threads(int threads, Work work) {
  const int before = at::get_num_threads();
  at::set_num_threads(threads);
  auto result = work();
  at::set_num_threads(before);
  return result;
}

TEST_CASE("threads change no bit of steps and norms") {
  const at::Tensor start = at::sin(at::arange(300001, at::kFloat));
  const at::Tensor gradient = at::sin(at::arange(300001, at::kFloat) * 0.37);
  const auto run = [&](const Make& make) {
    const at::Tensor x = start.clone().set_requires_grad(true);
    const auto optimizer = make({{.tensor = x}});
    for (int i = 0; i < 3; ++i) {
      x.mutable_grad() = gradient;
      optimizer->step(0.1);
    }
    return std::pair(x.detach(), gradient_norm(optimizer->parameters()));
  };
  std::vector<Make> makes = {[](auto p) { return make_lars(std::move(p), {}); }};
  for (const Peer& peer : peers()) makes.push_back(peer.make);
  for (const Make& make : makes) {
    const auto one = on_threads(1, [&] { return run(make); });
    const auto three = on_threads(3, [&] { return run(make); });
    CHECK(one.first.equal(three.first));
    CHECK(one.second == three.second);
  }
}

// ---- norms, clipping, loss scaling ----

TEST_CASE("the norm is that of all gradients together, in double, whatever their layout") {
  const at::Tensor a = start(), b = at::full({2, 2}, 0.0, at::kFloat).set_requires_grad(true),
                   c = start(), d = at::full({20000, 3}, 0.0, at::kFloat).set_requires_grad(true);
  const std::vector<OptimizedParameter> all = {
      {.tensor = a}, {.tensor = b}, {.tensor = c}, {.tensor = d}};
  CHECK(gradient_norm(all) == 0);
  a.mutable_grad() = at::tensor({3.0});
  CHECK(gradient_norm(all) == 3);
  b.mutable_grad() = at::full({2, 4}, 2.0, at::kFloat).slice(1, 0, 4, 2);  // not dense
  CHECK(gradient_norm(all) == Approx(5).epsilon(1e-14));
  // Sixty thousand times 0.001² are lost beside 1e8² in single precision.
  d.mutable_grad() = at::full({20000, 3}, 1e-3, at::kFloat);
  d.mutable_grad()[0][0] = 1e8;
  const double small = static_cast<double>(1e-3f);
  CHECK(gradient_norm(all) == Approx(std::sqrt(25 + 1e16 + 59999 * small * small)).epsilon(1e-15));
  d.mutable_grad()[7][1] = std::numeric_limits<double>::infinity();
  CHECK(!std::isfinite(gradient_norm(all)));
}

TEST_CASE("clipping shortens long gradients and leaves short ones") {
  const at::Tensor a = start(), b = start(), c = start();
  const std::vector<OptimizedParameter> all = {{.tensor = a}, {.tensor = b}, {.tensor = c}};
  a.mutable_grad() = at::tensor({3.0});
  b.mutable_grad() = at::tensor({4.0});
  CHECK(clip_factor(gradient_norm(all), 6) == 1);
  const double factor = clip_factor(gradient_norm(all), 2);
  CHECK(factor == Approx(2 / (5 + 1e-6)).epsilon(1e-15));
  scale_gradients(all, factor);
  CHECK(a.grad().item<double>() == Approx(3 * factor).epsilon(1e-15));
  CHECK(b.grad().item<double>() == Approx(4 * factor).epsilon(1e-15));
  CHECK(!c.grad().defined());
  CHECK(std::isnan(clip_factor(std::nan(""), 1)));
}

TEST_CASE("the loss scale halves on overflow and doubles after 2000 good steps") {
  LossScaler scaler(true);
  CHECK(scaler.scale() == 65536);
  CHECK(!scaler.update(false));
  CHECK(scaler.scale() == 32768);
  for (int i = 0; i < 1999; ++i) REQUIRE(scaler.update(true));
  CHECK(scaler.scale() == 32768);
  CHECK(!scaler.update(false));  // counting starts again
  for (int i = 0; i < 1999; ++i) REQUIRE(scaler.update(true));
  CHECK(scaler.scale() == 16384);

  TensorFile file;
  StateSaver saver(file, "scaler");
  scaler.visit_state(saver);
  LossScaler again(true);
  StateLoader loader(file, "scaler");
  again.visit_state(loader);
  CHECK(again.scale() == 16384);
  CHECK(again.update(true));
  CHECK(again.scale() == 32768);

  LossScaler off(false);
  CHECK(off.update(false));
  CHECK(off.scale() == 1);
}

TEST_CASE("a state name used twice is refused") {
  TensorFile file;
  StateSaver saver(file, "x");
  int64_t value = 1;
  saver.integer("count", value);
  CHECK_THROWS_WITH(saver.integer("count", value), Catch::Contains("used twice"));
}

}  // namespace
