#include "study/expansion.hpp"

#include "recipe/toml.hpp"
#include "study/baseline.hpp"
#include "text/plain_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace gh::host {
namespace {

constexpr std::size_t kMostRows = 100'000;

std::string plain_key(const std::string& key) { return key.starts_with('+') ? key.substr(1) : key; }

// ---- labels ----

// What an axis is called in labels: the last word of its key, or as much more as tells it from
// other axes. "harmonize.structure.id" is a "structure".
std::string short_name(const std::vector<StudyAxis>& axes, std::size_t index) {
  const auto tail = [](std::string key, int words) {
    key = plain_key(key);
    if (key.ends_with(".id")) key.resize(key.size() - 3);
    std::size_t begin = key.size();
    while (words-- > 0 && begin != std::string::npos && begin > 0)
      begin = key.rfind('.', begin - 1);
    return begin == std::string::npos ? key : key.substr(begin + 1);
  };
  const std::string whole = tail(axes[index].key, 100);
  for (int words = 1; words < 100; ++words) {
    const std::string name = tail(axes[index].key, words);
    const auto same = [&](const StudyAxis& axis) { return tail(axis.key, words) == name; };
    if (name == whole || std::count_if(axes.begin(), axes.end(), same) == 1) return name;
  }
  return whole;
}

// Of values, as short as tells them apart: text without quotation marks, paths by their last part.
std::vector<std::string> shown_values(const Array& values) {
  std::vector<std::string> out, short_out;
  for (const Value& value : values) {
    const std::string* text = value.as<std::string>();
    const bool plain = text && !text->empty() && is_plain_text(*text) &&
                       text->find_first_of("\n\t") == std::string::npos;
    out.push_back(plain ? *text : to_toml_value(value));
    const std::size_t slash = text ? out.back().find_last_of('/') : std::string::npos;
    short_out.push_back(slash == std::string::npos || slash + 1 == out.back().size()
                            ? out.back()
                            : out.back().substr(slash + 1));
  }
  const std::set<std::string> distinct(short_out.begin(), short_out.end());
  return distinct.size() == values.size() ? short_out : out;
}

// ---- rows ----

// A point of the axes: an index into the values of each.
using Point = std::vector<std::size_t>;

std::size_t count_points(const std::vector<StudyAxis>& axes) {
  std::size_t count = 1;
  for (const StudyAxis& axis : axes) count = std::min(kMostRows + 1, count * axis.values.size());
  return count;
}

bool advance(Point& point, const std::vector<StudyAxis>& axes) {
  for (std::size_t i = axes.size(); i-- > 0;) {
    if (++point[i] < axes[i].values.size()) return true;
    point[i] = 0;
  }
  return false;
}

class Expansion {
 public:
  Expansion(const StudyFile& study, Catalog& catalog, const Scale* scale, Diagnostics& out,
            const AlsoCheck& also)
      : study_(study), catalog_(catalog), scale_(scale), out_(out), also_(also) {
    for (std::size_t i = 0; i < study.axes.size(); ++i) {
      names_.push_back(short_name(study.axes, i));
      shown_.push_back(shown_values(study.axes[i].values));
    }
  }

  std::vector<StudyRow> run() {
    if (count_points(study_.axes) * study_.arms.size() > kMostRows) {
      out_.error({study_.file.string(), 1, 1}, "axes",
                 fmt::format("their product has more than {} rows", kMostRows));
      return {};
    }
    for (std::size_t arm = 0; arm < study_.arms.size(); ++arm) add_arm(arm);
    require_distinct_labels();
    return std::move(rows_);
  }

 private:
  void add_arm(std::size_t index) {
    const StudyArm& arm = study_.arms[index];
    if (!arm.axes || study_.axes.empty()) return add_row(index, nullptr);
    Point point(study_.axes.size(), 0);
    do add_row(index, &point);
    while (advance(point, study_.axes));
  }

  void add_row(std::size_t index, const Point* point) {
    const StudyArm& arm = study_.arms[index];
    StudyRow row;
    row.arm = index;
    row.label = arm.label;
    std::vector<WrittenOverride> overrides = study_.overrides;
    overrides.insert(overrides.end(), arm.overrides.begin(), arm.overrides.end());
    for (std::size_t i = 0; point && i < study_.axes.size(); ++i) {
      const StudyAxis& axis = study_.axes[i];
      const Value& value = axis.values[(*point)[i]];
      const std::string toml = to_toml_value(value);
      row.axes.emplace_back(plain_key(axis.key), toml);
      row.label += fmt::format("{}{} = {}", row.label.empty() ? "" : ", ", names_[i],
                               shown_[i][(*point)[i]]);
      overrides.push_back({axis.key + "=" + toml, axis.at, value.source});
    }
    if (row.label.empty()) row.label = study_.name;
    if (!study_.seeds.empty())
      overrides.push_back({fmt::format("seed={}", study_.seeds.front()), {}, Source{}});
    resolve(row, arm.recipe.file.empty() ? study_.base : arm.recipe, overrides);
    rows_.push_back(std::move(row));
  }

  void resolve(StudyRow& row, const NamedRecipe& named,
               const std::vector<WrittenOverride>& overrides) {
    const Table* tables = tables_of(named, row);
    if (!tables) return;
    const auto load = [&](const std::vector<std::string>& further, Diagnostics& found) {
      std::vector<WrittenOverride> all = overrides;
      for (const std::string& text : further)
        all.push_back({text, {"--scale " + (scale_ ? scale_->name : ""), 0, 0}, Source{}});
      return resolve_recipe(*tables, named.file, all, catalog_, found);
    };
    Diagnostics found;
    std::vector<Difference> keys;
    row.recipe = scale_ ? load_scaled(load, catalog_, *scale_, found, keys) : load({}, found);
    row.scaled = to_text(keys);
    if (also_ && !found.has_errors()) also_(row.recipe, found);
    absorb(found, row);
    forget_positions(row.recipe);
  }

  // Each file is read once.
  const Table* tables_of(const NamedRecipe& named, const StudyRow& row) {
    const auto [at, fresh] = tables_.try_emplace(named.file.string());
    if (fresh) {
      Diagnostics found;
      at->second = read_recipe_tables(named.file, found);
      absorb(found, row);
    }
    return at->second ? &*at->second : nullptr;
  }

  void absorb(const Diagnostics& found, const StudyRow& row) {
    for (const Diagnostic& d : found.all()) {
      const auto what = std::tuple(d.source.file, d.source.line, d.source.column, d.message);
      if (!told_.insert(what).second) continue;
      const bool alone = row.label.empty() || row.label == study_.name;
      const std::string message =
          alone ? d.message : fmt::format("{} (in \"{}\")", d.message, row.label);
      if (d.level == Diagnostic::Level::error)
        out_.error(d.source, d.key, message);
      else
        out_.warning(d.source, d.key, message);
    }
  }

  static void forget_positions(Recipe& recipe) {
    const auto forget = [](Source& source) {
      source.line = source.column = 0;
      std::string().swap(source.file);  // gives its memory back
    };
    const auto in_table = [&](Table& table) {
      for (Entry& entry : table.entries()) {
        forget(entry.source);
        for_each_source(entry.value, forget);
      }
    };
    in_table(recipe.resolved);
    for (Slot& slot : recipe.slots) in_table(slot.params);
  }

  void require_distinct_labels() {
    std::set<std::string> labels;
    for (const StudyRow& row : rows_)
      if (!labels.insert(row.label).second)
        out_.error(study_.arms[row.arm].at, "label",
                   fmt::format("two rows would be called \"{}\"", row.label));
  }

  const StudyFile& study_;
  Catalog& catalog_;
  const Scale* scale_;
  Diagnostics& out_;
  const AlsoCheck& also_;
  std::vector<std::string> names_;               // of axes
  std::vector<std::vector<std::string>> shown_;  // values of axes
  std::map<std::string, std::optional<Table>> tables_;
  std::set<std::tuple<std::string, int, int, std::string>> told_;
  std::vector<StudyRow> rows_;
};

}  // namespace

std::vector<StudyRow> expand(const StudyFile& study, Catalog& catalog, const Scale* scale,
                             Diagnostics& out, const AlsoCheck& also) {
  std::vector<StudyRow> rows = Expansion(study, catalog, scale, out, also).run();
  if (!out.has_errors()) compare_with_baseline(study, rows, out);
  return rows;
}

std::vector<int64_t> seeds_of(const StudyFile& study, const std::vector<StudyRow>& rows) {
  if (!study.seeds.empty() || rows.empty()) return study.seeds;
  return {rows.front().recipe.integer("seed")};
}

Recipe with_seed(Recipe recipe, int64_t seed) {
  recipe.resolved.set("seed", Value{seed, {}});
  return recipe;
}

}  // namespace gh::host
