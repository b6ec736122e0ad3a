#include "support/method_trial.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/randn.h>

#include <catch2/catch.hpp>

namespace {

using namespace gh;
using test::deviation;
using test::MethodTrial;
using test::tolerance;

std::vector<at::Tensor> crops(const at::Tensor& z, int64_t count, int64_t batch) {
  std::vector<at::Tensor> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(z.narrow(0, i * batch, batch));
  return out;
}

// `which` is two, two_queue or multi.
void check_vector(const host::TensorFile& file, const std::string& which, at::ScalarType dtype) {
  INFO(which);
  const auto integer = [&](const char* key) {
    return static_cast<int64_t>(test::number(file, key));
  };
  const int64_t batch = integer("B"), length = integer("queue");
  const bool queued = which == "two_queue";
  const at::Tensor z = test::leaf(file.at("z"), dtype);
  const auto views = crops(z, which == "multi" ? integer("crops_multi") : 2, batch);
  MethodTrial trial("swav",
                    "projector = \"none\"\nfreeze = 0\nqueue_from = 0\nprototypes = " +
                        file.metadata.at("K") + "\nepsilon = " + file.metadata.at("epsilon") +
                        "\niterations = " + file.metadata.at("sinkhorn_iterations") +
                        "\ntemperature = " + file.metadata.at("temperature") +
                        "\nqueue = " + (queued ? file.metadata.at("queue") : "0"),
                    views);
  trial.build();
  test::NamedState start(true);
  start.tensors["prototypes"] = file.at("prototypes").to(dtype);
  for (int64_t a = 0; queued && a < 2; ++a) {
    const std::string queue = "queue_" + std::to_string(a);
    start.tensors[queue + ".rows"] = file.at("queue")[a].to(dtype);
    start.integers[queue + ".next"] = length - batch;  // its last rows are the oldest
    start.integers[queue + ".filled"] = length;
  }
  trial.method->visit_state(start);
  trial.method->after_update(trial.host);  // to unit length; published: before the forward
  const double loss = trial.step(views);
  CHECK(deviation(file, which + "_loss", loss, dtype) < tolerance(dtype, 5e-6));
  const std::string dz = which + "_dz";
  CHECK(deviation(file, dz, z.grad().narrow(0, 0, file.at(dz).size(0))) < tolerance(dtype, 1e-6));
  CHECK(deviation(file, which + "_dprototypes", trial.trained.parameters.back().grad()) <
        tolerance(dtype, 1e-6));
  if (!queued) return;
  test::NamedState now;
  trial.method->visit_state(now);
  for (int64_t a = 0; a < 2; ++a) {
    // Published: old rows move down and new ones come first. Here they take the oldest one's place.
    const at::Tensor rows = now.tensors["queue_" + std::to_string(a) + ".rows"];
    const at::Tensor moved =
        at::cat({rows.narrow(0, length - batch, batch), rows.narrow(0, 0, length - batch)});
    const std::string name =
        dtype == at::kDouble ? "two_queue_queue_after_f64" : "two_queue_queue_after";
    CHECK(test::largest_difference(moved, file.at(name)[a]) < tolerance(dtype, 1e-6));
  }
}

TEST_CASE("swav equals the published loss, gradients and queue", "[parity]") {
  const auto file = test::find_vector("swav_loss");
  if (!file) return;
  for (const std::string which : {"two", "two_queue", "multi"})
    for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) check_vector(*file, which, dtype);
}

TEST_CASE("gradients of swav's further crops are those of finite differences") {
  // Assignments come from the first two crops, as constants.
  std::vector<at::Tensor> views;
  for (int i = 0; i < 3; ++i) views.push_back(test::leaf(at::randn({6, 3}), at::kDouble));
  MethodTrial trial("swav", "projector = \"none\"\nprototypes = 5", views);
  trial.build().step(views);
  CHECK(test::slope_error({views[2]}, [&] { return trial.step(views); }) < 1e-7);
}

TEST_CASE(
    "swav's prototypes are frozen at first, and its queue is used from an epoch on once full") {
  const std::vector<at::Tensor> views = {at::randn({4, 3}), at::randn({4, 3})};
  MethodTrial trial(
      "swav", "projector = \"none\"\nprototypes = 5\nfreeze = 2\nqueue = 6\nqueue_from = 1", views);
  trial.build();
  const at::Tensor prototypes = trial.trained.parameters.back();
  std::vector<double> losses;
  for (int64_t i = 0; i < 5; ++i) {
    trial.host.progress().epoch = i / 2;
    losses.push_back(trial.step(views));
    trial.finish_step();
    CHECK(prototypes.grad().defined() == (i >= 2));
  }
  // Nothing moves here: what changes is the queue, filled in steps 2 and 3, used from step 4 on.
  CHECK(losses[0] == losses[3]);
  CHECK(losses[4] != losses[3]);
}

TEST_CASE("swav refuses a single view, or two of which one is smaller") {
  for (const std::vector<std::vector<int64_t>>& shapes :
       {std::vector<std::vector<int64_t>>{{3, 8, 8}}, {{3, 8, 8}, {3, 4, 4}}}) {
    RunFacts facts;
    facts.batch = 4;
    facts.view_shapes = shapes;
    test::CollectedComplaints complaints;
    test::load<SslMethod>("swav")->check(facts, complaints);
    CHECK(complaints.text.starts_with(".views: "));
  }
}

TEST_CASE("swav goes on from its state, prototypes and queues included") {
  const std::vector<at::Tensor> views = {at::randn({4, 3}), at::randn({4, 3})};
  const char* toml =
      "hidden = 8\nembedding = 6\nprototypes = 5\nqueue = 6\nqueue_from = 0\nfreeze = 0";
  MethodTrial one("swav", toml, views), two("swav", toml, views, 1);
  one.build().step(views);
  one.finish_step();
  CHECK(two.build().step(views) != one.step(views));
  CHECK(test::state_difference(one, two).empty());
  CHECK(two.step(views) == one.step(views));
}

}  // namespace
