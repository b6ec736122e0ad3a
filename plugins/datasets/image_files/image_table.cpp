#include "csv_reader.hpp"
#include "file_split.hpp"
#include "image_files.hpp"
#include "text_file.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace image_files {
namespace {

constexpr std::size_t kMostSplits = 100;

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::size_t column(const std::vector<std::string>& header, const std::string& name,
                   const std::string& place) {
  const auto found = std::count(header.begin(), header.end(), name);
  gh::require(found == 1, gh::ErrorCode::invalid_param, place, ": expected one column '", name,
              "', found ", found, " in the header: ", joined(header));
  return static_cast<std::size_t>(std::find(header.begin(), header.end(), name) - header.begin());
}

double parse_target(std::string_view text, const std::string& place) {
  double value = 0;
  text = trimmed(text);
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  gh::require(problem == std::errc{} && end == text.data() + text.size() && std::isfinite(value),
              gh::ErrorCode::io, place, ": the target '", text, "' is not a finite number");
  return value;
}

}  // namespace

ImageTable::ImageTable(const gh::Params& params)
    : root_(params.text("root")),
      table_(params.text("table")),
      path_column_(params.text("path_column")),
      target_column_(params.text("target_column")),
      split_column_(params.text("split_column")),
      coverage_(coverage_from(params)) {}

const ImageTable::Rows& ImageTable::rows() const {
  std::call_once(read_, [this] { rows_ = read_rows(); });
  return rows_;
}

std::vector<std::string> ImageTable::splits() const { return rows().splits; }

std::unique_ptr<gh::Split> ImageTable::open(std::string_view split, uint64_t,
                                            gh::Notices& notices) const {
  require_root(root_);
  const Rows& all = rows();
  const auto wanted = std::find(all.splits.begin(), all.splits.end(), split);
  gh::require(wanted != all.splits.end(), gh::ErrorCode::missing_data, table_, " has no split '",
              split, "'; its splits are ", joined(all.splits));
  const std::size_t number = static_cast<std::size_t>(wanted - all.splits.begin());
  Samples samples;
  std::vector<double> targets;
  for (std::size_t i = 0; i < all.targets.size(); ++i) {
    if (all.split[i] != number) continue;
    samples.paths.add(all.paths[static_cast<int64_t>(i)]);
    targets.push_back(all.targets[i]);
  }
  if (const std::string absent = absent_files(root_, samples.paths, table_); !absent.empty())
    notices.missing(absent);
  samples.targets = to_tensor(targets);
  auto opened =
      std::make_unique<FileSplit>(root_, std::move(samples), Listing::with_sizes, coverage_);
  opened->tell_coverage(split, notices);
  return opened;
}

ImageTable::Rows ImageTable::read_rows() const {
  const std::string text = read_text(table_, "the table");
  CsvReader reader(text, table_);
  std::vector<std::string> header, fields;
  gh::require(reader.next(header), gh::ErrorCode::io, table_, " is empty; expected a header");
  const std::size_t path = column(header, path_column_, reader.place());
  const std::size_t target = column(header, target_column_, reader.place());
  const std::size_t split = column(header, split_column_, reader.place());
  Rows rows;
  while (reader.next(fields)) {
    const std::string place = reader.place();
    gh::require(fields.size() == header.size(), gh::ErrorCode::io, place, ": expected ",
                header.size(), " fields as in the header, found ", fields.size());
    gh::require(!fields[path].empty() && stays_below_root(fields[path]), gh::ErrorCode::io, place,
                ": the path '", fields[path], "' is not one below root");
    gh::require(!fields[split].empty(), gh::ErrorCode::io, place, ": the split is empty");
    rows.paths.add(fields[path]);
    rows.targets.push_back(parse_target(fields[target], place));
    const auto known = std::find(rows.splits.begin(), rows.splits.end(), fields[split]);
    rows.split.push_back(static_cast<std::size_t>(known - rows.splits.begin()));
    if (known == rows.splits.end()) rows.splits.push_back(fields[split]);
    gh::require(rows.splits.size() <= kMostSplits, gh::ErrorCode::invalid_param, place,
                ": the column '", split_column_, "' has more than ", kMostSplits,
                " different values; is it the split?");
  }
  gh::require(std::count(rows.splits.begin(), rows.splits.end(), "train") == 1,
              gh::ErrorCode::missing_data, table_,
              " has no row of the split 'train' in its column '", split_column_,
              "'; found: ", rows.splits.empty() ? "no rows" : joined(rows.splits));
  return rows;
}

}  // namespace image_files
