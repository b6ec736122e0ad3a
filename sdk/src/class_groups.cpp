#include "gh/class_groups.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <set>

namespace gh {
inline namespace v1 {
namespace {

constexpr std::string_view kRules =
    "\"terciles\", \"deciles\", \"shots(100,20)\" or \"lists(0-33; 34-66; 67-99)\"";

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(trimmed(text.substr(0, at)));
    if (at == text.npos) return parts;
    text.remove_prefix(at + 1);
  }
}

int64_t number(std::string_view text) {
  int64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  require(end.ec == std::errc() && end.ptr == text.data() + text.size() && value >= 0,
          ErrorCode::invalid_param, "groups: '", text, "' is not a whole number");
  return value;
}

// What stands between "name(" and ")".
std::optional<std::string_view> arguments_of(std::string_view rule, std::string_view name) {
  rule = trimmed(rule);
  if (!rule.starts_with(name)) return std::nullopt;
  const std::string_view rest = trimmed(rule.substr(name.size()));
  if (rest.size() < 2 || rest.front() != '(' || rest.back() != ')') return std::nullopt;
  return rest.substr(1, rest.size() - 2);
}

struct Rule {
  enum class Kind { terciles, deciles, shots, lists };
  Kind kind = Kind::terciles;
  int64_t above = 0, below = 0;             // shots
  std::vector<std::vector<int64_t>> lists;  // labels
};

std::vector<int64_t> labels_of(std::string_view list) {
  std::vector<int64_t> labels;
  for (const std::string_view part : parts_of(list, ',')) {
    const std::size_t dash = part.find('-');
    const int64_t first = number(trimmed(part.substr(0, dash)));
    const int64_t last = dash == part.npos ? first : number(trimmed(part.substr(dash + 1)));
    require(first <= last && last - first < 1'000'000, ErrorCode::invalid_param, "groups: '", part,
            "' is not a range of labels");
    for (int64_t label = first; label <= last; ++label) labels.push_back(label);
  }
  return labels;
}

Rule read_rule(std::string_view text) {
  Rule rule;
  if (trimmed(text) == "terciles") return rule;
  if (trimmed(text) == "deciles") {
    rule.kind = Rule::Kind::deciles;
    return rule;
  }
  if (const auto shots = arguments_of(text, "shots")) {
    const auto parts = parts_of(*shots, ',');
    require(parts.size() == 2, ErrorCode::invalid_param,
            "groups: shots takes two numbers, as in shots(100,20); got ", parts.size());
    rule.kind = Rule::Kind::shots;
    rule.above = number(parts[0]);
    rule.below = number(parts[1]);
    require(rule.below <= rule.above + 1, ErrorCode::invalid_param, "groups: more than ",
            rule.above, " and less than ", rule.below, " samples overlap; the larger number first");
    return rule;
  }
  if (const auto lists = arguments_of(text, "lists")) {
    rule.kind = Rule::Kind::lists;
    std::set<int64_t> seen;
    for (const std::string_view list : parts_of(*lists, ';')) {
      rule.lists.push_back(labels_of(list));
      for (const int64_t label : rule.lists.back())
        require(seen.insert(label).second, ErrorCode::invalid_param, "groups: class ", label,
                " stands in the lists twice");
    }
    return rule;
  }
  fail(ErrorCode::invalid_param, "groups: expected ", kRules, ", got \"", text, "\"");
}

// Smallest class first, of equal ones the first.
std::vector<int64_t> by_size(const at::Tensor& counts) {
  const int64_t* count = counts.data_ptr<int64_t>();
  std::vector<int64_t> order(static_cast<std::size_t>(counts.numel()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return count[a] < count[b]; });
  return order;
}

// Parts of `order`, cut at `ends` from its front; the last part becomes the first group.
std::vector<std::vector<int64_t>> cut(const std::vector<int64_t>& order,
                                      const std::vector<std::size_t>& ends) {
  std::vector<std::vector<int64_t>> parts;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    parts.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(begin),
                       order.begin() + static_cast<std::ptrdiff_t>(end));
    std::sort(parts.back().begin(), parts.back().end());
    begin = end;
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<std::string> names_for(std::size_t groups, const char* otherwise) {
  if (groups == 3) return {"many", "medium", "few"};
  std::vector<std::string> names;
  for (std::size_t i = 1; i <= groups; ++i) names.push_back(otherwise + std::to_string(i));
  return names;
}

std::vector<std::vector<int64_t>> by_shots(const Rule& rule, const at::Tensor& counts) {
  std::vector<std::vector<int64_t>> parts(3);
  const int64_t* count = counts.data_ptr<int64_t>();
  for (int64_t c = 0; c < counts.numel(); ++c)
    parts[count[c] > rule.above ? 0 : count[c] < rule.below ? 2 : 1].push_back(c);
  return parts;
}

std::string words_for(const Rule& rule) {
  switch (rule.kind) {
    case Rule::Kind::terciles:
      return "thirds of the classes by training samples";
    case Rule::Kind::deciles:
      return "tenths of the classes by training samples, the largest first";
    case Rule::Kind::shots:
      return "many: more than " + std::to_string(rule.above) +
             " training samples, few: less than " + std::to_string(rule.below) +
             ", medium: between";
    case Rule::Kind::lists:
      return "lists of classes in the recipe";
  }
  return {};
}

}  // namespace

ClassGroups class_groups(std::string_view text, const at::Tensor& given) {
  require(given.defined() && given.dim() == 1 && given.scalar_type() == at::kLong, ErrorCode::shape,
          "class_groups: expected counts [C] int64");
  const at::Tensor counts = given.contiguous();
  const Rule rule = read_rule(text);
  const auto classes = static_cast<std::size_t>(counts.numel());
  std::vector<std::vector<int64_t>> parts;
  const char* otherwise = "g";
  switch (rule.kind) {
    case Rule::Kind::terciles:
      parts = cut(by_size(counts), {classes / 3, classes / 3 * 2, classes});
      break;
    case Rule::Kind::deciles: {
      otherwise = "d";
      std::vector<std::size_t> ends;
      for (std::size_t i = 1; i <= 10; ++i) ends.push_back(i * classes / 10);
      parts = cut(by_size(counts), ends);
      break;
    }
    case Rule::Kind::shots:
      parts = by_shots(rule, counts);
      break;
    case Rule::Kind::lists:
      for (const auto& list : rule.lists)
        for (const int64_t label : list)
          require(label < counts.numel(), ErrorCode::invalid_param, "groups: there is no class ",
                  label, "; labels go from 0 to ", counts.numel() - 1);
      parts = rule.lists;
      break;
  }
  const std::vector<std::string> names = names_for(parts.size(), otherwise);
  ClassGroups out;
  out.definition = words_for(rule) + " (";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    out.definition += (i ? ", " : "") + names[i] + " " + std::to_string(parts[i].size());
    out.groups.push_back({names[i], std::move(parts[i])});
  }
  out.definition += " classes)";
  return out;
}

void check_class_groups(std::string_view rule, std::string_view key, Complaints& out) try {
  read_rule(rule);
} catch (const Error& error) {
  out.add(key, error.what());
}

GroupAverages average_groups(const ClassGroups& groups, std::span<const double> per_class) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const auto mean = [](const std::vector<double>& values) {
    return values.empty() ? kNone
                          : std::accumulate(values.begin(), values.end(), 0.0) /
                                static_cast<double>(values.size());
  };
  GroupAverages out;
  std::vector<double> all, means;
  for (const double value : per_class)
    if (!std::isnan(value)) all.push_back(value);
  out.average = mean(all);
  for (const ClassGroup& group : groups.groups) {
    std::vector<double> values;
    for (const int64_t c : group.classes) {
      require(c >= 0 && c < static_cast<int64_t>(per_class.size()), ErrorCode::shape,
              "average_groups: no value for class ", c);
      if (const double value = per_class[static_cast<std::size_t>(c)]; !std::isnan(value))
        values.push_back(value);
    }
    out.means.push_back(mean(values));
    if (!values.empty()) means.push_back(out.means.back());
  }
  const double middle = mean(means);
  double squares = 0;
  for (const double m : means) squares += (m - middle) * (m - middle);
  out.deviation =
      means.size() < 2 ? kNone : std::sqrt(squares / static_cast<double>(means.size() - 1));
  return out;
}

}  // namespace v1
}  // namespace gh
