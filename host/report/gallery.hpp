// Pictures of a report, in rows that are read across.
#pragma once

#include "report/evaluator_series.hpp"
#include "report/run_record.hpp"

#include <span>
#include <string>
#include <vector>

namespace gh::host {

// A picture and the words above it.
struct Figure {
  std::string heading;  // may be empty
  std::string detail;
  const PictureRecord* picture = nullptr;
};

// Large pictures in their own size, or made narrower so that two of a kind stand side by side.
enum class Row { natural, pair };

// Writes the pictures of one page; each drawing gets ids of its own.
class Gallery {
 public:
  // One row; a caption repeated by the next picture is written once. "" without figures.
  std::string row(std::span<const Figure> figures, Row kind = Row::natural);

 private:
  std::string image(const PictureRecord& picture);
  int drawn_ = 0;
};

// The pictures of an evaluator. Small ones: one picture at successive moments is one row; what is
// the same at every moment (the data) stands once, before the first row. Large ones: the last
// moment's; those before are earlier_pictures().
std::string series_pictures(const EvaluatorSeries& series, Gallery& gallery);
std::string earlier_pictures(const EvaluatorSeries& series, Gallery& gallery);

// A row for each picture of the evaluator, a column for each run (`labels`), each at the run's last
// moment; what is the same in every run stands once.
std::string compared_pictures(const EvaluatorMatch& match, std::span<const std::string> labels,
                              Gallery& gallery);

}  // namespace gh::host
