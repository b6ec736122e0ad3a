#include "study/cost.hpp"

#include "files/file_write.hpp"
#include "recipe/toml.hpp"
#include "text/json.hpp"

#include "gh/digest.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

namespace gh::host {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostRead = 20;  // runs of a class

int64_t bytes_in(const fs::path& directory) {
  int64_t bytes = 0;
  std::error_code failure;
  fs::recursive_directory_iterator at(directory, failure);
  for (const fs::recursive_directory_iterator end; !failure && at != end; at.increment(failure))
    if (std::error_code none; at->is_regular_file(none))
      bytes += static_cast<int64_t>(at->file_size(none));
  return bytes;
}

double number(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number() ? found->get<double>() : 0;
}

}  // namespace

std::string cost_class(const Recipe& recipe) {
  std::string text;
  for (const char* key :
       {"backbone", "method", "data", "views", "train.batch", "train.accumulate", "train.dtype",
        "train.autocast", "train.channels_last", "train.convolution", "train.device",
        "harmonize.structure", "harmonize.allocator", "harmonize.apply"})
    if (const Value* value = recipe.find(key))
      text += fmt::format("{} = {}\n", key, to_toml_value(*value));
  return Digest().add(text).hex().substr(0, 16);
}

std::optional<Cost> cost_of_run(const fs::path& run) {
  std::ifstream in(run / "timing.jsonl");
  Cost cost{.epoch = 0, .evaluations = 0, .memory = 0, .disk = bytes_in(run), .runs = 1};
  double first = 0, others = 0;
  int64_t epochs = 0;
  for (std::string line; std::getline(in, line);) {
    const Json json = parse_json_or_discard<Json>(line);
    if (!json.is_object()) continue;
    const double seconds = number(json, "seconds");
    if (json.contains("result"))
      cost.evaluations += seconds;
    else if (epochs++ == 0)
      first = seconds;
    else
      others += seconds;
  }
  if (epochs == 0) return std::nullopt;
  // The first epoch also fills caches.
  cost.epoch = epochs > 1 ? others / static_cast<double>(epochs - 1) : first;
  return cost;
}

double seconds_of(const Cost& cost, int64_t epochs, bool to_the_end) {
  return cost.epoch * static_cast<double>(epochs) + (to_the_end ? cost.evaluations : 0);
}

Costs::Costs(fs::path file) : file_(std::move(file)) {
  std::ifstream in(file_, std::ios::binary);
  const Json json =
      parse_json_or_discard<Json>(std::string(std::istreambuf_iterator<char>(in), {}));
  if (!json.is_object()) return;
  for (const auto& [key, value] : json.items())
    if (value.is_object())
      measured_[key] = {.epoch = number(value, "epoch"),
                        .evaluations = 0,
                        .memory = static_cast<int64_t>(number(value, "memory")),
                        .disk = static_cast<int64_t>(number(value, "disk")),
                        .runs = 0};
}

void Costs::add_finished(const std::string& cost_class, const fs::path& run) {
  std::vector<Cost>& known = finished_[cost_class];
  if (known.size() >= kMostRead) return;
  if (const std::optional<Cost> cost = cost_of_run(run)) known.push_back(*cost);
}

void Costs::set_measured(const std::string& cost_class, const Cost& cost) {
  measured_[cost_class] = cost;
  changed_ = true;
}

std::optional<Cost> Costs::of(const std::string& cost_class) const {
  const auto measured = measured_.find(cost_class);
  const auto found = finished_.find(cost_class);
  if (found == finished_.end() || found->second.empty())
    return measured == measured_.end() ? std::nullopt : std::optional(measured->second);
  const auto count = static_cast<double>(found->second.size());
  Cost mean{.epoch = 0,
            .evaluations = 0,
            .memory = measured == measured_.end() ? 0 : measured->second.memory,
            .disk = 0,
            .runs = static_cast<int64_t>(found->second.size())};
  for (const Cost& one : found->second) {
    mean.epoch += one.epoch / count;
    mean.evaluations += one.evaluations / count;
    mean.disk += one.disk / mean.runs;
  }
  return mean;
}

void Costs::save() const {
  if (!changed_) return;
  Json json = Json::object();
  for (const auto& [key, cost] : measured_)
    json[key] = {{"epoch", cost.epoch}, {"memory", cost.memory}, {"disk", cost.disk}};
  write_shared_file(file_, json_text(json, 1) + "\n");
}

}  // namespace gh::host
