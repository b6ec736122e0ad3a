#include "train/failed_step.hpp"

#include "text/json.hpp"
#include "weights/safetensors.hpp"

#include "gh/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

namespace gh::host {
namespace {

constexpr std::size_t kShown = 8;

std::string number(double value) { return fmt::format("{}", value); }
std::string norm_text(const at::Tensor& t) {
  return t.defined() ? number(t.detach().to(at::kDouble).norm().item<double>()) : "none";
}
bool is_finite(const std::string& text) {
  return text.find("nan") == std::string::npos && text.find("inf") == std::string::npos;
}

std::string range_text(const at::Tensor& view) {
  if (!view.isfinite().all().item<bool>()) return "not finite";
  return fmt::format("{} … {}", view.min().item<double>(), view.max().item<double>());
}

}  // namespace

bool StepExamination::finite() const { return is_finite(loss) && is_finite(gradient); }

StepExamination examine_step(int64_t step, double loss, double gradient, const LoadedBatch& batch,
                             const std::vector<std::pair<std::string, at::Tensor>>& parameters) {
  StepExamination out{.step = step,
                      .loss = number(loss),
                      .gradient = number(gradient),
                      .views = {},
                      .parameters = {}};
  for (std::size_t v = 0; v < batch.views.size(); ++v)
    out.views.push_back(fmt::format("{}: {}", v, range_text(batch.views[v])));
  for (const auto& [name, tensor] : parameters)
    out.parameters.push_back({name, norm_text(tensor), norm_text(tensor.grad())});
  return out;
}

std::string summary(const StepExamination& e) {
  std::string out =
      fmt::format("step {}: loss {}, gradient norm {}\n", e.step + 1, e.loss, e.gradient);
  for (const std::string& view : e.views) out += fmt::format("  view {}\n", view);
  std::size_t bad = 0;
  for (const auto& p : e.parameters) {
    if (is_finite(p.gradient) && is_finite(p.value)) continue;
    if (++bad <= kShown)
      out += fmt::format("  {}: value norm {}, gradient norm {}\n", p.name, p.value, p.gradient);
  }
  return out + fmt::format("  {} of {} parameters are not finite or have a gradient that is not",
                           bad, e.parameters.size());
}

void write_failure(RunDirectory& directory, const StepExamination& e, const LoadedBatch& batch) {
  if (!directory.written()) return;
  std::filesystem::create_directories(directory.path() / "failure");
  nlohmann::ordered_json parameters = nlohmann::ordered_json::array();
  for (const auto& p : e.parameters) parameters.push_back({p.name, p.value, p.gradient});
  directory.write_json("failure/step.json", {{"step", e.step},
                                             {"loss", e.loss},
                                             {"gradient", e.gradient},
                                             {"views", e.views},
                                             {"parameters", parameters}});
  TensorFile file;
  file.tensors.emplace_back("indices", batch.indices);
  for (std::size_t v = 0; v < batch.views.size(); ++v)
    file.tensors.emplace_back(fmt::format("view.{}", v), batch.views[v]);
  write_safetensors(directory.path() / "failure/batch.safetensors", file);
}

StepExamination read_failure(const std::filesystem::path& run) {
  const std::filesystem::path file = run / "failure/step.json";
  std::ifstream in(file);
  require(in.good(), ErrorCode::missing_data, file.string(),
          " is not there: this run has no step that failed");
  try {
    const auto json = parse_json(std::string(std::istreambuf_iterator<char>(in), {}));
    StepExamination out{.step = json.at("step"),
                        .loss = json.at("loss"),
                        .gradient = json.at("gradient"),
                        .views = json.at("views"),
                        .parameters = {}};
    for (const auto& p : json.at("parameters")) out.parameters.push_back({p[0], p[1], p[2]});
    return out;
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorCode::io, file.string(), " is damaged: ", error.what());
  }
}

}  // namespace gh::host
