#include "file_split.hpp"
#include "image_files.hpp"
#include "text_file.hpp"

#include <algorithm>
#include <charconv>
#include <unordered_map>

namespace image_files {
namespace {

struct List {
  std::string file;
  PathList paths;
  std::vector<int64_t> labels;
  std::vector<int64_t> lines;

  int64_t largest_label() const { return *std::max_element(labels.begin(), labels.end()); }
};

template <class... Parts>
[[noreturn]] void refuse(const std::string& file, int64_t line, const Parts&... parts) {
  gh::fail(gh::ErrorCode::io, file, ", line ", line, ": ", parts...);
}

int64_t parse_label(std::string_view text, const std::string& file, int64_t line) {
  int64_t label = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), label);
  if (problem != std::errc{} || end != text.data() + text.size())
    refuse(file, line, "the label '", text, "' is not a whole number");
  if (label < 0) refuse(file, line, "the label ", label, " is negative");
  return label;
}

// The label is the last field, so a path may contain spaces.
List read_list(const std::string& file, std::string_view split) {
  const std::string text = read_text(file, "the list of " + std::string(split));
  List list{file, {}, {}, {}};
  std::string_view rest = text;
  for (int64_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = trimmed(next_line(rest));
    if (line.empty()) continue;
    const std::size_t gap = line.find_last_of(" \t");
    if (gap == line.npos)
      refuse(file, number, "expected 'relative/path label', found only '", line, "'");
    const std::string_view path = trimmed(line.substr(0, gap));
    if (!stays_below_root(path))
      refuse(file, number, "the path '", path, "' leaves root; expected one relative to it");
    list.labels.push_back(parse_label(line.substr(gap + 1), file, number));
    list.paths.add(path);
    list.lines.push_back(number);
  }
  gh::require(!list.labels.empty(), gh::ErrorCode::io, file, " names no images");
  return list;
}

std::vector<std::string> read_class_names(const std::string& file) {
  const std::string text = read_text(file, "the list of class names");
  std::vector<std::string> names;
  std::string_view rest = text;
  while (!rest.empty()) names.emplace_back(trimmed(next_line(rest)));
  while (!names.empty() && names.back().empty()) names.pop_back();
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i].empty()) refuse(file, static_cast<int64_t>(i + 1), "expected a class name");
  gh::require(!names.empty(), gh::ErrorCode::io, file, " holds no class names");
  return names;
}

void require_known_labels(const List& list, int64_t classes, const std::string& from) {
  for (std::size_t i = 0; i < list.labels.size(); ++i)
    if (list.labels[i] >= classes)
      refuse(list.file, list.lines[i], "the label ", list.labels[i], " is beyond the ", classes,
             " classes of ", from);
}

// Sorted copies instead of a count for each class: a mistyped label may be huge.
void require_every_class(const List& list, int64_t classes) {
  std::vector<int64_t> present = list.labels;
  std::sort(present.begin(), present.end());
  present.erase(std::unique(present.begin(), present.end()), present.end());
  const int64_t missing = classes - static_cast<int64_t>(present.size());
  if (missing == 0) return;
  std::string named;
  int64_t shown = 0;
  auto next = present.begin();
  for (int64_t label = 0; label < classes && shown < 5; ++label) {
    if (next != present.end() && *next == label) {
      ++next;
      continue;
    }
    named += (shown++ ? ", " : "") + std::to_string(label);
  }
  gh::fail(gh::ErrorCode::io, list.file, ": ", missing, " of ", classes,
           " classes have no training sample: label ", named, shown < missing ? ", …" : "");
}

void require_one_label_each(const List& list) {
  std::unordered_map<std::string_view, std::size_t> seen;
  seen.reserve(list.labels.size());
  for (std::size_t i = 0; i < list.labels.size(); ++i) {
    const auto [first, added] = seen.emplace(list.paths[static_cast<int64_t>(i)], i);
    if (added || list.labels[first->second] == list.labels[i]) continue;
    refuse(list.file, list.lines[i], first->first, " has the label ", list.labels[i],
           ", but in line ", list.lines[first->second], " it has ", list.labels[first->second]);
  }
}

}  // namespace

ImageList::ImageList(const gh::Params& params)
    : root_(params.text("root")), coverage_(coverage_from(params)) {
  for (const char* split : {"train", "test", "shots"})
    if (params.has(split)) lists_.push_back({split, std::string(params.text(split))});
  if (params.has("classes")) classes_ = params.text("classes");
}

std::vector<std::string> ImageList::splits() const {
  std::vector<std::string> names;
  for (const NamedList& list : lists_) names.push_back(list.split);
  return names;
}

std::unique_ptr<gh::Split> ImageList::open(std::string_view split, uint64_t,
                                           gh::Notices& notices) const {
  const auto named = std::find_if(lists_.begin(), lists_.end(),
                                  [&](const NamedList& list) { return list.split == split; });
  gh::require(named != lists_.end(), gh::ErrorCode::missing_data, "image_list has no split '",
              split, "'; the splits are the lists given as train, test and shots");
  require_root(root_);
  List list = read_list(named->file, split);
  Samples samples;
  if (!classes_.empty()) {
    samples.class_names = read_class_names(classes_);
    require_known_labels(list, static_cast<int64_t>(samples.class_names.size()), classes_);
  }
  if (split == "train") {
    require_every_class(list, classes_.empty() ? list.largest_label() + 1
                                               : static_cast<int64_t>(samples.class_names.size()));
  } else if (classes_.empty()) {
    const List train = read_list(lists_.front().file, "train");
    require_known_labels(list, train.largest_label() + 1, train.file);
  }
  require_one_label_each(list);
  if (const std::string absent = absent_files(root_, list.paths, list.file); !absent.empty())
    notices.missing(absent);
  samples.paths = std::move(list.paths);
  samples.targets = to_tensor(list.labels);
  auto opened =
      std::make_unique<FileSplit>(root_, std::move(samples), Listing::published, coverage_);
  opened->tell_coverage(split, notices);
  return opened;
}

}  // namespace image_files
