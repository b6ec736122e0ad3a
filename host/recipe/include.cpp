#include "recipe/include.hpp"

#include "recipe/merge.hpp"
#include "recipe/toml.hpp"

#include "gh/error.hpp"
#include "gh/regular_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace gh::host {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxFiles = 100;  // files that include each other twice over would take forever
// One more than the parser accepts: enough for it to say so.
constexpr std::size_t kMaxBytes = (std::size_t{1} << 20) + 1;

std::string reason_not_found(const fs::path& file) {
  std::vector<std::string> neighbours;
  std::error_code failure;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(fs::absolute(file).parent_path(), failure))
    neighbours.push_back(entry.path().filename().string());
  std::sort(neighbours.begin(), neighbours.end());
  const std::string hint = nearest(file.filename().string(), neighbours);
  return hint.empty() ? "no such file" : fmt::format("no such file; did you mean '{}'?", hint);
}

// Returns what is wrong, or "".
std::string read_text(const fs::path& file, std::string& text) {
  std::error_code failure;
  if (!fs::exists(file, failure) && !failure) return reason_not_found(file);
  if (fs::is_directory(file, failure)) return "is a directory, expected a recipe file";
  try {
    text = read_regular_file(file.string(), kMaxBytes);
    return "";
  } catch (const Error& error) {
    const std::string reason = error.what(), name = file.string() + " ";  // which callers say
    return reason.starts_with(name) ? reason.substr(name.size()) : reason;
  }
}

class Reader {
 public:
  explicit Reader(Diagnostics& out) : out_(out) {}

  // `asked_at` is where the file was included, without position for the recipe itself.
  Table read(const fs::path& file, const Source& asked_at) {
    const fs::path identity = fs::weakly_canonical(file, ignored_);
    if (std::find(open_.begin(), open_.end(), identity) != open_.end()) {
      return stop(asked_at, fmt::format("cycle: {}", chain(file)));
    }
    if (files_ > kMaxFiles) return {};
    if (++files_ > kMaxFiles)
      return stop(asked_at, fmt::format("more than {} files are included", kMaxFiles));
    std::string text;
    if (const std::string problem = read_text(file, text); !problem.empty()) {
      if (asked_at.line > 0) return stop(asked_at, fmt::format("{}: {}", file.string(), problem));
      broken_ = true;
      out_.error({file.string(), 0, 0}, "", problem);
      return {};
    }
    std::optional<Table> own = parse_toml(text, file.string(), out_);
    if (!own) {
      broken_ = true;
      return {};
    }
    open_.push_back(identity);
    names_.push_back(file.string());
    Table merged = included_by(file, *own);
    open_.pop_back();
    names_.pop_back();
    leave_out(*own, merged);
    own->erase("include");
    own->erase("without");
    lay_over(merged, std::move(*own));
    return merged;
  }

  bool broken() const { return broken_; }

 private:
  Table included_by(const fs::path& file, const Table& own) {
    Table merged;
    const Value* include = own.find("include");
    if (!include) return merged;
    const Array* list = include->as<Array>();
    if (!list) {
      return stop(include->source,
                  fmt::format("expected a list of strings, got {}", kind_of(*include)));
    }
    for (const Value& element : *list) {
      const std::string* name = element.as<std::string>();
      if (name && !name->empty()) {
        lay_over(merged, read(beside(file, *name), element.source));
        continue;
      }
      stop(element.source, fmt::format("expected the path of a recipe, got {}",
                                       name ? "the string \"\"" : kind_of(element)));
    }
    return merged;
  }

  // Takes out of the included recipes what this one does `without`.
  void leave_out(const Table& own, Table& merged) {
    const Value* without = own.find("without");
    if (!without || broken_) return;
    const Array* list = without->as<Array>();
    if (!list) {
      broken_ = true;
      out_.error(without->source, "without",
                 fmt::format("expected a list of strings, got {}", kind_of(*without)));
      return;
    }
    for (const Value& element : *list) {
      const std::string* path = element.as<std::string>();
      if (path && remove_path(merged, *path)) continue;
      broken_ = true;
      out_.error(element.source, "without",
                 path ? fmt::format("the included recipes have no table or key '{}'", *path)
                      : fmt::format("expected a table or key of the included recipes, as in "
                                    "\"harmonize\", got {}",
                                    kind_of(element)));
    }
  }

  static bool remove_path(Table& table, const std::string& path) {
    const std::size_t dot = path.find('.');
    if (dot == std::string::npos) return table.erase(path);
    Value* below = table.find(path.substr(0, dot));
    return below && below->as<Table>() && remove_path(*below->as<Table>(), path.substr(dot + 1));
  }

  void lay_over(Table& base, Table over) {
    merge(base, std::move(over), "", [&](const Replaced& replaced) {
      out_.warning(replaced.source, replaced.path, describe(replaced));
    });
  }

  Table stop(const Source& where, const std::string& message) {
    broken_ = true;
    out_.error(where, "include", message);
    return {};
  }

  static fs::path beside(const fs::path& file, const std::string& name) {
    const char* home = std::getenv("HOME");
    if (name.starts_with("~/") && home) return fs::path(home) / name.substr(2);
    return (file.parent_path() / name)
        .lexically_normal();  // an absolute name replaces what is before it
  }

  std::string chain(const fs::path& last) const {
    std::string text;
    for (const std::string& name : names_) text += name + " → ";
    return text + last.string();
  }

  Diagnostics& out_;
  std::error_code ignored_;
  std::vector<fs::path> open_;
  std::vector<std::string> names_;
  int files_ = 0;
  bool broken_ = false;
};

}  // namespace

std::optional<Table> read_with_includes(const fs::path& file, Diagnostics& out) {
  Reader reader(out);
  Table merged = reader.read(file, {});
  return reader.broken() ? std::nullopt : std::optional(std::move(merged));
}

}  // namespace gh::host
