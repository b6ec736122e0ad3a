#include "ranks/agreement.hpp"

#include "gh/digest.hpp"

#include <algorithm>
#include <set>
#include <string_view>

namespace gh::host {
namespace {

constexpr std::string_view kEnd("\0", 1);  // of a name and of what it names; in neither

std::string pack(const Facts& facts) {
  std::string out;
  for (const auto& [name, fact] : facts) out.append(name).append(kEnd).append(fact).append(kEnd);
  return out;
}

Facts unpack(std::string_view text) {
  const auto next = [&] {
    const size_t end = std::min(text.find(kEnd), text.size());
    std::string part(text.substr(0, end));
    text.remove_prefix(std::min(end + kEnd.size(), text.size()));
    return part;
  };
  Facts facts;
  while (!text.empty()) {
    std::string name = next();
    facts[std::move(name)] = next();
  }
  return facts;
}

}  // namespace

std::vector<Disagreement> disagreements(Ranks& ranks, const Facts& facts) {
  if (ranks.world() == 1) return {};
  const std::string text = pack(facts);
  const std::vector<std::string> digests = ranks.gather_text(Digest().add(text).hex());
  if (std::all_of(digests.begin(), digests.end(),
                  [&](const std::string& digest) { return digest == digests.front(); }))
    return {};
  std::vector<Facts> all;
  std::set<std::string> names;
  for (const std::string& one : ranks.gather_text(text))
    for (const auto& [name, fact] : all.emplace_back(unpack(one))) names.insert(name);
  const auto of = [&](size_t rank, const std::string& name) {
    const auto found = all[rank].find(name);
    return found == all[rank].end() ? std::string() : found->second;
  };
  std::vector<Disagreement> out;
  for (const std::string& name : names) {
    const std::string first = of(0, name);
    size_t rank = 1;
    while (rank < all.size() && of(rank, name) == first) ++rank;
    if (rank < all.size()) out.push_back({name, first, of(rank, name), static_cast<int64_t>(rank)});
  }
  return out;
}

std::string to_text(const std::vector<Disagreement>& disagreements) {
  const auto shown = [](const std::string& text) { return text.empty() ? "(absent)" : text; };
  std::string out;
  for (const Disagreement& d : disagreements)
    out += "  " + d.name + ": " + shown(d.first) + " on rank 0, " + shown(d.other) + " on rank " +
           std::to_string(d.rank) + "\n";
  return out;
}

}  // namespace gh::host
