#include "run/checkpoint_store.hpp"

#include "text/json.hpp"
#include "text/plain_text.hpp"

#include "gh/digest.hpp"
#include "gh/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

namespace gh::host {
namespace fs = std::filesystem;
namespace {

constexpr const char* kChecksum = "sha256";
constexpr const char* kBest = "best";
constexpr std::string_view kPrefix = "step-";

std::optional<int64_t> step_of(const fs::path& file) {
  const std::string stem = file.stem().string();
  if (file.extension() != ".safetensors" || !stem.starts_with(kPrefix)) return {};
  int64_t step = 0;
  const char* begin = stem.data() + kPrefix.size();
  const char* end = stem.data() + stem.size();
  const auto [stop, error] = std::from_chars(begin, end, step);
  if (error != std::errc() || stop != end) return {};
  return step;
}

std::map<int64_t, fs::path> files_in(const fs::path& directory) {
  std::map<int64_t, fs::path> out;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored))
    if (const auto step = step_of(entry.path())) out.emplace(*step, entry.path());
  return out;
}

std::vector<fs::path> paths_of(const std::map<int64_t, fs::path>& files) {
  std::vector<fs::path> out;
  for (const auto& entry : files) out.push_back(entry.second);
  return out;
}

// [[score, step], …], best first.
nlohmann::json best_of(const Checkpoint& checkpoint) {
  const auto stored = checkpoint.content.metadata.find(kBest);
  const auto refuse = [&](const char* reason) {
    fail(ErrorCode::io, checkpoint.file.string(),
         ": damaged list of the best checkpoints: ", reason);
  };
  if (stored == checkpoint.content.metadata.end()) refuse("it is not there");
  nlohmann::json best = parse_json_or_discard(stored->second);
  if (!best.is_array()) refuse("expected [[score, step], …]");
  for (const auto& entry : best)
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_number() ||
        !entry[1].is_number_integer())
      refuse("expected a score and a step in every entry");
  return best;
}

}  // namespace

std::string checkpoint_checksum(const TensorFile& content) {
  Digest digest;
  for (const auto& [key, value] : content.metadata)
    if (key != kChecksum) digest.add(fmt::format("{}={}\n", key, value));
  for (const auto& [name, tensor] : content.tensors) {
    const at::Tensor bytes = tensor.detach().cpu().contiguous();
    digest.add(fmt::format("{} {} {}\n", name, c10::toString(bytes.scalar_type()),
                           fmt::join(bytes.sizes().vec(), "x")));
    digest.add(std::span(static_cast<const uint8_t*>(bytes.data_ptr()), bytes.nbytes()));
  }
  return digest.hex();
}

TensorFile read_checkpoint(const fs::path& file) {
  TensorFile content = read_safetensors(file);
  const auto stored = content.metadata.find(kChecksum);
  require(stored != content.metadata.end(), ErrorCode::io, file.string(), ": has no checksum");
  require(stored->second == checkpoint_checksum(content), ErrorCode::io, file.string(),
          ": the checksum does not match its content; the file is damaged");
  return content;
}

CheckpointStore::CheckpointStore(const fs::path& run, CheckpointPlan plan)
    : directory_(run / "checkpoints"), kept_(run / "kept"), plan_(plan) {}

fs::path CheckpointStore::file_of(int64_t step) const {
  return directory_ / fmt::format("{}{:09}.safetensors", kPrefix, step);
}

std::vector<fs::path> CheckpointStore::files() const { return paths_of(files_in(directory_)); }

std::vector<fs::path> CheckpointStore::files_and_kept() const {
  std::map<int64_t, fs::path> found = files_in(directory_);
  found.merge(files_in(kept_));
  return paths_of(found);
}

void CheckpointStore::rank(int64_t step, double score) {
  std::erase_if(best_, [&](const Scored& s) { return s.step == step; });
  best_.push_back({score, step});
  // Of equals, the earlier stays.
  std::sort(best_.begin(), best_.end(), [&](const Scored& a, const Scored& b) {
    if (a.score != b.score) return (a.score > b.score) == plan_.largest_is_best;
    return a.step < b.step;
  });
  if (static_cast<int64_t>(best_.size()) > plan_.best)
    best_.resize(static_cast<std::size_t>(plan_.best));
}

void CheckpointStore::save(int64_t step, TensorFile content, std::optional<double> score) {
  if (score && std::isfinite(*score)) rank(step, *score);
  nlohmann::ordered_json best = nlohmann::ordered_json::array();
  for (const Scored& s : best_) best.push_back({s.score, s.step});
  content.metadata[kBest] = best.dump();
  adopt(step, std::move(content));
  prune();
}

void CheckpointStore::adopt(int64_t step, TensorFile content) {
  for (auto& entry : content.metadata) entry.second = valid_utf8(entry.second);  // as it is read
  content.metadata[kChecksum] = checkpoint_checksum(content);
  std::error_code error;
  fs::create_directories(directory_, error);
  require(!error, ErrorCode::io, "cannot create ", directory_.string(), ": ", error.message());
  try {
    write_safetensors(file_of(step), content);
  } catch (const Error& reason) {
    const std::vector<fs::path> kept = files();
    fail(reason.code(), "no checkpoint of step ", step, ": ", reason.what(),
         kept.empty() ? std::string() : "; the one before it is safe: " + kept.back().string());
  }
}

// As a second name of the file where the file system has such.
void CheckpointStore::keep_newest() const {
  const std::vector<fs::path> all = files();
  require(!all.empty(), ErrorCode::internal, "there is no checkpoint to keep");
  const fs::path file = kept_ / all.back().filename(), temporary = file.string() + ".tmp";
  std::error_code error;
  fs::create_directories(kept_, error);
  fs::remove(temporary, error);
  fs::create_hard_link(all.back(), temporary, error);
  if (error) fs::copy_file(all.back(), temporary, fs::copy_options::overwrite_existing, error);
  if (!error) fs::rename(temporary, file, error);
  require(!error, ErrorCode::io, "cannot keep ", file.string(), ": ", error.message());
}

void CheckpointStore::prune() const {
  const std::vector<fs::path> all = files();
  const auto newest = static_cast<std::size_t>(plan_.keep);
  for (std::size_t i = 0; i + newest < all.size(); ++i) {
    const bool is_best = std::any_of(best_.begin(), best_.end(),
                                     [&](const Scored& s) { return file_of(s.step) == all[i]; });
    std::error_code ignored;
    if (!is_best) fs::remove(all[i], ignored);
  }
}

std::optional<Checkpoint> CheckpointStore::newest(
    const std::function<void(const std::string&)>& warn) const {
  std::vector<fs::path> all = files();
  for (; !all.empty(); all.pop_back()) {
    try {
      return Checkpoint{all.back(), read_checkpoint(all.back())};
    } catch (const Error& reason) {
      warn(fmt::format("{}; {}", reason.what(),
                       all.size() > 1 ? "the checkpoint before it is used" : "no other is left"));
    }
  }
  return {};
}

std::optional<Checkpoint> CheckpointStore::best() const {
  const auto last = newest([](const std::string&) {});
  if (!last) return {};
  const std::vector<int64_t> steps = best_steps(*last);
  if (steps.empty()) return {};
  const fs::path file = file_of(steps.front());
  return Checkpoint{file, read_checkpoint(file)};
}

std::vector<int64_t> CheckpointStore::best_steps(const Checkpoint& checkpoint) {
  std::vector<int64_t> out;
  for (const auto& entry : best_of(checkpoint)) out.push_back(entry[1].get<int64_t>());
  return out;
}

void CheckpointStore::go_on_from(const Checkpoint& checkpoint) {
  best_.clear();
  for (const auto& entry : best_of(checkpoint))
    best_.push_back({entry[0].get<double>(), entry[1].get<int64_t>()});
  const int64_t step = step_of(checkpoint.file).value_or(0);
  for (const fs::path& file : files())
    if (step_of(file).value_or(0) > step) fs::remove(file);
}

}  // namespace gh::host
