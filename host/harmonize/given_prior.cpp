#include "harmonize/given_prior.hpp"

#include "text/json.hpp"

#include "gh/error.hpp"
#include "gh/regular_file.hpp"

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

namespace gh::host {
namespace {

std::vector<double> parse(const std::string& text, const std::string& file) {
  std::vector<double> out;
  if (text.find('[') != std::string::npos) {
    const auto json = parse_json_or_discard(text);
    require(json.is_array(), ErrorCode::invalid_param, file, " is no JSON list of numbers");
    for (const auto& entry : json) {
      require(entry.is_number(), ErrorCode::invalid_param, file, ": entry ", out.size() + 1,
              " is no number: ", json_text(entry));
      out.push_back(entry.get<double>());
    }
    return out;
  }
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    std::size_t used = 0;
    double value = 0;
    try {
      value = std::stod(word, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    require(used == word.size(), ErrorCode::invalid_param, file, ": entry ", out.size() + 1,
            " is no number: ", word);
    out.push_back(value);
  }
  return out;
}

}  // namespace

at::Tensor oracle_prior(const at::Tensor& class_counts, int64_t points, double temperature) {
  const int64_t classes = class_counts.size(0);
  require(points >= classes, ErrorCode::invalid_param, "there are ", classes, " classes and only ",
          points, " points");
  at::Tensor prior = at::zeros({points}, at::kDouble);
  prior.narrow(0, 0, classes).copy_(class_counts.to(at::kDouble).pow(1 / temperature));
  return prior / prior.sum();
}

at::Tensor read_prior(const std::filesystem::path& file, int64_t points) {
  const std::vector<double> shares = parse(read_regular_file(file.string()), file.string());
  require(static_cast<int64_t>(shares.size()) == points, ErrorCode::invalid_param, file.string(),
          " has ", shares.size(), " entries, the structure has ", points, " points");
  double sum = 0;
  for (std::size_t k = 0; k < shares.size(); ++k) {
    require(std::isfinite(shares[k]) && shares[k] >= 0, ErrorCode::invalid_param, file.string(),
            ": entry ", k + 1, " must be finite and not negative, got ", shares[k]);
    sum += shares[k];
  }
  require(sum > 0, ErrorCode::invalid_param, file.string(), " holds nothing but zeros");
  return at::tensor(shares, at::kDouble) / sum;
}

}  // namespace gh::host
