#include "train/initial_weights.hpp"

#include "gh/error.hpp"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <utility>

namespace gh::host {
namespace {

constexpr std::size_t kShown = 5;

std::vector<NamedTensor> tensors_of(const Module& module) {
  std::vector<NamedTensor> all = module.parameters();
  for (NamedTensor& buffer : module.buffers()) all.push_back(std::move(buffer));
  return all;
}

// Every way to cut a name of the file at a dot such that the rest is a name of the encoder votes
// for the part before it.
std::string best_prefix(const std::set<std::string>& wanted, const TensorFile& file) {
  struct Votes {
    std::size_t count = 0, first = 0;
  };
  std::map<std::string, Votes> votes;
  for (std::size_t i = 0; i < file.tensors.size(); ++i) {
    const std::string& name = file.tensors[i].first;
    for (std::size_t cut = 0; cut != std::string::npos;) {
      if (wanted.count(name.substr(cut)) > 0) {
        Votes& vote = votes.try_emplace(name.substr(0, cut), Votes{0, i}).first->second;
        ++vote.count;
      }
      const std::size_t dot = name.find('.', cut);
      cut = dot == std::string::npos ? dot : dot + 1;
    }
  }
  const auto parts = [](const std::string& prefix) {
    return std::count(prefix.begin(), prefix.end(), '.');
  };
  const auto better = [&](const auto& a, const auto& b) {
    if (a.second.count != b.second.count) return a.second.count > b.second.count;
    if (parts(a.first) != parts(b.first)) return parts(a.first) < parts(b.first);
    return a.second.first < b.second.first;
  };
  const auto best = std::min_element(votes.begin(), votes.end(), better);
  return best == votes.end() ? std::string() : best->first;
}

std::string first_part(const std::string& name) { return name.substr(0, name.find('.')); }

bool is_counter(const std::string& name) { return name.ends_with("num_batches_tracked"); }

// The first few names, and how many more there are.
template <class Names>
std::string some_of(const Names& names) {
  std::ostringstream out;
  std::size_t shown = 0;
  for (const std::string& name : names) {
    if (shown == kShown) break;
    out << (shown++ > 0 ? ", " : "") << name.substr(0, 100);
  }
  if (names.size() > shown) out << ", … (" << names.size() << " in all)";
  return names.empty() ? "none" : out.str();
}

void require_fit(const NamedTensor& own, const at::Tensor& loaded) {
  require(own.tensor.sizes() == loaded.sizes(), ErrorCode::shape, "the file has ", own.name,
          " of shape ", loaded.sizes(), ", the backbone of shape ", own.tensor.sizes(),
          "; compare the backbone's depth, width and stem with those of the file");
}

}  // namespace

WeightReport match_weights(const Module& encoder, const TensorFile& file) {
  std::set<std::string> wanted, parts;
  for (const NamedTensor& tensor : tensors_of(encoder)) {
    wanted.insert(tensor.name);
    parts.insert(first_part(tensor.name));
  }
  WeightReport report;
  report.prefix = best_prefix(wanted, file);
  if (const auto inside = file.metadata.find("inside"); inside != file.metadata.end())
    report.inside = inside->second;
  std::set<std::string> found;
  for (const auto& [name, tensor] : file.tensors) {
    const bool prefixed = name.starts_with(report.prefix);
    const std::string inner = prefixed ? name.substr(report.prefix.size()) : std::string();
    if (wanted.count(inner) > 0)
      found.insert(inner);
    else if (prefixed && parts.count(first_part(inner)) > 0 && !is_counter(inner))
      report.foreign.push_back(name);
    else
      report.unexpected.push_back(name);
  }
  for (const NamedTensor& tensor : tensors_of(encoder))
    if (found.count(tensor.name) > 0)
      report.found.push_back(tensor.name);
    else if (!is_counter(tensor.name))
      report.missing.push_back(tensor.name);
  return report;
}

WeightReport load_weights(Module& encoder, const TensorFile& file) {
  WeightReport report = match_weights(encoder, file);
  std::vector<std::string> names;
  for (const auto& [name, tensor] : file.tensors) names.push_back(name);
  require(!report.found.empty(), ErrorCode::shape,
          "no tensor of the file belongs to the backbone, which has ", some_of(report.missing),
          "; the file has ", some_of(names));
  const auto in_file = [&](const std::string& name) { return file.at(report.prefix + name); };
  std::map<std::string, at::Tensor> own;
  for (const NamedTensor& tensor : tensors_of(encoder)) own.emplace(tensor.name, tensor.tensor);
  for (const std::string& name : report.found) require_fit({name, own.at(name)}, in_file(name));
  require(report.complete(), ErrorCode::shape, "the file is of another architecture: of the ",
          report.found.size() + report.missing.size(), " tensors of the backbone it lacks ",
          some_of(report.missing), "; of the same parts it also has ", some_of(report.foreign),
          ". Set [backbone] to what the file was trained with");
  at::NoGradGuard no_grad;
  for (const std::string& name : report.found) own.at(name).detach().copy_(in_file(name));
  return report;
}

std::string describe(const WeightReport& report, const std::filesystem::path& file) {
  std::ostringstream out;
  out << "weights: " << report.found.size() << " of " << report.found.size() + report.missing.size()
      << " tensors from " << file.string();
  if (!report.inside.empty()) out << ", inside " << report.inside;
  if (!report.prefix.empty()) out << ", under " << report.prefix << "*";
  if (!report.unexpected.empty()) out << "\nin the file, not used: " << some_of(report.unexpected);
  return out.str();
}

}  // namespace gh::host
