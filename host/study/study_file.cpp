#include "study/study_file.hpp"

#include "recipe/schema.hpp"
#include "recipe/toml.hpp"
#include "text/plain_text.hpp"

#include "gh/error.hpp"
#include "gh/regular_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

namespace gh::host {
namespace {

constexpr std::size_t kMostBytes = (std::size_t{1} << 20) + 1;  // one more than the parser takes

constexpr Param kKeys[] = {
    gh::text("name", nullptr, "of the study; that of the file").optional(),
    gh::integers("seeds", nullptr, "a run each").at_least(0).optional(),
    gh::text("baseline", nullptr, "label of the arm that others are compared with").optional(),
    gh::texts("metrics", "[]", "what tables show"),
    gh::choice("layout", "rows", "rows|paper", "of tables"),
    gh::texts("blocks", "[]", "axes whose values are blocks of the layout \"paper\""),
    gh::integer("retries", "2", "further attempts at a run that failed").at_least(0).at_most(1000),
};
constexpr Param kBaseKeys[] = {
    gh::path("recipe", nullptr, "what every arm begins with"),
    gh::texts("overrides", "[]", "changes to it, as on the command line"),
    gh::texts("intended", "[]", "keys that recipes of arms change on purpose"),
};
constexpr Param kArmKeys[] = {
    gh::text("label", nullptr, "its name in tables"),
    gh::path("recipe", nullptr, "in place of the base's").optional(),
    gh::texts("overrides", "[]", "changes after those of [base]"),
    gh::texts("intended", "[]", "keys that its recipe changes on purpose"),
    gh::boolean("axes", "true", "false: once, not at each point of the axes"),
};
const std::vector<std::string> kTables = {"base", "axes", "arm", "scale"};

// Names stand in lines of a terminal and cells of tables.
void require_name(const Value& value, const std::string& key, Diagnostics& out) {
  const std::string& text = *value.as<std::string>();
  if (text.find_first_not_of(' ') == std::string::npos)
    out.error(value.source, key, "is empty");
  else if (!is_plain_text(text) || text.find_first_of("\n\t") != std::string::npos)
    out.error(value.source, key, "expected one line without tabs and control characters");
}

std::vector<std::string> texts_at(const Table& table, const char* key) {
  std::vector<std::string> out;
  if (const Value* list = table.find(key))
    for (const Value& text : *list->as<Array>()) out.push_back(*text.as<std::string>());
  return out;
}

// Overrides as they stand in the file; columns count from behind the quotation mark.
std::vector<WrittenOverride> overrides_at(const Table& table) {
  std::vector<WrittenOverride> out;
  const Value* list = table.find("overrides");
  if (!list) return out;
  for (const Value& text : *list->as<Array>()) {
    Source begin = text.source;
    ++begin.column;
    out.push_back({*text.as<std::string>(), begin, {}});
  }
  return out;
}

class StudyReader {
 public:
  StudyReader(StudyFile& study, Diagnostics& out) : study_(study), out_(out) {}

  void read(const Table& root) {
    headings(root);
    base(root);
    axes(root);
    arms(root);
    if (const Value* scales = root.find("scale")) study_.scales = read_scales(*scales, out_);
    names_in_headings();
  }

 private:
  void headings(const Table& root) {
    const Table read =
        apply_schema(read_schema(kKeys), root, start(), "", kTables, out_, "a study");
    study_.name = study_.file.stem().string();
    if (const Value* name = read.find("name")) {
      study_.name = *name->as<std::string>();
      require_name(*name, "name", out_);
    }
    if (const Value* baseline = read.find("baseline")) {
      study_.baseline = *baseline->as<std::string>();
      study_.baseline_at = baseline->source;
    }
    if (const Value* layout = read.find("layout")) study_.layout = *layout->as<std::string>();
    if (const Value* retries = read.find("retries")) study_.retries = *retries->as<int64_t>();
    study_.metrics = texts_at(read, "metrics");
    study_.blocks = texts_at(read, "blocks");
    if (const Value* value = read.find("blocks")) blocks_at_ = value->source;
    const Value* seeds = read.find("seeds");
    if (!seeds) return;
    for (const Value& seed : *seeds->as<Array>()) study_.seeds.push_back(*seed.as<int64_t>());
    refuse_repeated(*seeds, "seeds", "a seed");
  }

  void base(const Table& root) {
    const Value* base = root.find("base");
    if (!base)
      return out_.error(start(), "base", "missing table: the recipe that every arm begins with");
    const Table* table = base->as<Table>();
    if (!table)
      return out_.error(base->source, "base",
                        fmt::format("expected a table, got {}", kind_of(*base)));
    const Table read = apply_schema(read_schema(kBaseKeys), *table, base->source, "base", {}, out_);
    study_.base = recipe_in(read, "base.recipe");
    study_.overrides = overrides_at(read);
    study_.intended = texts_at(read, "intended");
  }

  // An axis is a quoted key, or tables as TOML makes them of a key without quotation marks.
  void axes(const Table& root) {
    const Value* axes = root.find("axes");
    if (!axes) return;
    if (const Table* table = axes->as<Table>())
      add_axes(*table, "");
    else
      out_.error(axes->source, "axes", fmt::format("expected a table, got {}", kind_of(*axes)));
  }

  void add_axes(const Table& table, const std::string& path) {
    for (const Entry& entry : table.entries()) {
      const std::string key = join_path(path, entry.key);
      if (const Table* below = entry.value.as<Table>()) {
        add_axes(*below, key);
        continue;
      }
      const Array* values = entry.value.as<Array>();
      if (!values)
        out_.error(entry.value.source, "axes." + key,
                   fmt::format("expected a list of values, got {}", kind_of(entry.value)));
      else if (key == "seed" || key == "+seed")
        out_.error(entry.source, "axes." + key, "seeds are given by seeds = […], not by an axis");
      else if (key.starts_with('~'))
        out_.error(entry.source, "axes." + key, "an axis sets a key; remove it in an [[arm]]");
      else
        refuse_repeated(entry.value, "axes." + key, "a value");
      if (values) study_.axes.push_back({key, entry.source, *values});
    }
  }

  void arms(const Table& root) {
    const Value* arms = root.find("arm");
    if (!arms) {
      study_.arms.emplace_back();
      return;
    }
    const Array* list = arms->as<Array>();
    if (!list || list->empty())
      return out_.error(arms->source, "arm", "expected tables, each written [[arm]]");
    std::set<std::string> labels;
    for (const Value& element : *list) {
      const std::string path = join_path("arm", std::to_string(study_.arms.size()));
      StudyArm& arm = study_.arms.emplace_back();
      arm.at = element.source;
      if (const Table* table = element.as<Table>())
        read_arm(*table, path, arm, labels);
      else
        out_.error(element.source, path, fmt::format("expected a table, got {}", kind_of(element)));
    }
  }

  void read_arm(const Table& table, const std::string& path, StudyArm& arm,
                std::set<std::string>& labels) {
    const Table read = apply_schema(read_schema(kArmKeys), table, arm.at, path, {}, out_, "an arm");
    if (const Value* label = read.find("label")) {
      arm.label = *label->as<std::string>();
      const std::string key = join_path(path, "label");
      require_name(*label, key, out_);
      if (!labels.insert(arm.label).second)
        out_.error(label->source, key, fmt::format("another arm is called \"{}\", too", arm.label));
    }
    arm.recipe = recipe_in(read, join_path(path, "recipe"));
    arm.overrides = overrides_at(read);
    arm.intended = texts_at(read, "intended");
    if (const Value* axes = read.find("axes")) arm.axes = *axes->as<bool>();
  }

  NamedRecipe recipe_in(const Table& read, const std::string& key) {
    const Value* recipe = read.find("recipe");
    if (!recipe) return {};
    const std::filesystem::path file = *recipe->as<std::string>();
    std::error_code failure;
    if (!std::filesystem::exists(file, failure))
      out_.error(recipe->source, key, fmt::format("no such file: {}", file.string()));
    return {file, recipe->source};
  }

  void refuse_repeated(const Value& list, const std::string& key, const char* what) {
    std::set<std::string> seen;
    const Array& values = *list.as<Array>();
    if (values.empty()) out_.error(list.source, key, "is an empty list: nothing would be run");
    for (const Value& value : values)
      if (!seen.insert(to_toml_value(value)).second)
        out_.error(value.source.line > 0 ? value.source : list.source, key,
                   fmt::format("{} is there twice: {}", what, to_toml_value(value)));
  }

  void names_in_headings() {
    std::vector<std::string> keys;
    for (const StudyAxis& axis : study_.axes) keys.push_back(axis.key);
    for (const std::string& block : study_.blocks) {
      if (std::find(keys.begin(), keys.end(), block) != keys.end()) continue;
      const std::string hint = nearest(block, keys);
      out_.error(blocks_at_, "blocks",
                 fmt::format("no axis \"{}\"{}", block,
                             hint.empty() ? "" : fmt::format("; did you mean \"{}\"?", hint)));
    }
  }

  Source start() const { return {study_.file.string(), 1, 1}; }

  StudyFile& study_;
  Diagnostics& out_;
  Source blocks_at_;
};

}  // namespace

bool is_study_file(const std::filesystem::path& file) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(file, failure)) return false;
  Diagnostics ignored;
  const std::optional<Table> root =
      parse_toml(read_regular_file(file.string(), kMostBytes), file.string(), ignored);
  return root && (root->find("base") || root->find("arm") || root->find("axes"));
}

StudyFile read_study(const std::filesystem::path& file, Diagnostics& out) {
  StudyFile study;
  study.file = file;
  const std::optional<Table> root =
      parse_toml(read_regular_file(file.string(), kMostBytes), file.string(), out);
  if (root) StudyReader(study, out).read(*root);
  return study;
}

}  // namespace gh::host
