#include "train/notebook.hpp"

#include "text/json.hpp"
#include "text/plain_text.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <algorithm>

namespace gh::host {

void Notebook::draw(std::string_view name, std::string_view caption, std::string_view mime,
                    std::string_view bytes) {
  const std::string key = valid_utf8(name);  // it is saved and found again as JSON
  pictures[key] = {key, std::string(caption), std::string(mime), std::string(bytes)};
}

std::vector<RunDirectory::Picture> Notebook::all_pictures() const {
  std::vector<RunDirectory::Picture> out;
  for (const auto& entry : pictures) out.push_back(entry.second);
  return out;
}

void Notebook::visit_state(State& state, Ranks& ranks) {
  at::Tensor strength;
  if (weights) strength = at::tensor(*weights, at::kFloat);
  state.tensor("strength", strength);
  if (state.loading() && strength.defined())
    weights = std::make_shared<const std::vector<float>>(
        strength.data_ptr<float>(), strength.data_ptr<float>() + strength.numel());
  metrics.visit_state(state, ranks);
  visit_pictures(state);
}

// Bytes as a tensor: a picture may hold anything.
void Notebook::visit_pictures(State& state) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [name, picture] : pictures)
    list.push_back({{"name", name}, {"caption", picture.caption}, {"mime", picture.mime}});
  std::string text = json_text(list);
  state.text("pictures", text);
  if (state.loading()) pictures.clear();
  const nlohmann::json stored = parse_json(text);
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const std::string name = stored[i]["name"];
    RunDirectory::Picture& picture = pictures[name];
    at::Tensor bytes = at::empty({static_cast<int64_t>(picture.bytes.size())}, at::kByte);
    std::copy_n(picture.bytes.data(), picture.bytes.size(), bytes.data_ptr<uint8_t>());
    state.tensor("picture." + std::to_string(i), bytes);
    if (state.loading())
      picture = {name, stored[i]["caption"], stored[i]["mime"],
                 std::string(static_cast<const char*>(bytes.data_ptr()), bytes.nbytes())};
  }
}

}  // namespace gh::host
