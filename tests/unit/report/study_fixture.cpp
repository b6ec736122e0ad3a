#include "unit/report/study_fixture.hpp"

#include <fmt/format.h>

namespace gh::test {

using host::ArmState;
using host::RunOfStudy;

StudyFixture::StudyFixture() {
  study.name = "a study";
  study.baseline = "base";
}

RunOfStudy& StudyFixture::add(const std::string& label, int seed, const std::string& few,
                              const std::string& baseline) {
  RunFixture& run = directories_.emplace_back();
  run.write("status.json", R"({"state": "finished"})");
  run.write("recipe.toml", fmt::format("name = \"run\"\nseed = {}\n", seed));
  run.write_classified(0, {.values = {"60", "50", few, "10.06", "50.04"}});
  RunOfStudy& out = study.runs.emplace_back();
  out.label = out.arm = label;
  out.seed = std::to_string(seed);
  out.baseline = baseline;
  out.state = ArmState::done;
  out.epochs_done = out.epochs_planned = 10;
  out.directory = run.path();
  return out;
}

void StudyFixture::add_arm(const std::string& label, const std::vector<std::string>& few,
                           const std::string& baseline) {
  for (std::size_t seed = 0; seed < few.size(); ++seed)
    add(label, static_cast<int>(seed), few[seed], baseline);
}

RunOfStudy& StudyFixture::add_absent(const std::string& label, int seed, ArmState state) {
  RunOfStudy& out = study.runs.emplace_back();
  out.label = out.arm = label;
  out.seed = std::to_string(seed);
  out.baseline = "base";
  out.state = state;
  out.directory = "/nowhere/of/a/study";
  return out;
}

void StudyFixture::set_axes(const std::string& label, const host::Pairs& axes,
                            const std::string& arm) {
  for (RunOfStudy& run : study.runs) {
    if (run.label != label) continue;
    run.axes = axes;
    run.arm = arm;
  }
}

}  // namespace gh::test
