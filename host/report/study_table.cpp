#include "report/study_table.hpp"

#include "report/format.hpp"
#include "report/group_rows.hpp"
#include "report/markdown.hpp"
#include "report/paper_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

namespace gh::host {
namespace {

using Cells = std::vector<std::vector<std::string>>;

constexpr std::string_view kMark = " †";

// Text and numbers in Markdown or in LaTeX.
class Writer {
 public:
  explicit Writer(TableFormat format) : latex_(format == TableFormat::latex) {}

  std::string text(std::string_view words) const {
    return latex_ ? escape_latex(words) : markdown_cell(words);
  }
  std::string nothing() const { return latex_ ? "--" : "—"; }

  std::string mean(const StudyRow& row, std::size_t column, const MeanText& number) const {
    if (number.mean.empty()) return nothing();
    const StudyCell& cell = row.cells[column];
    std::string out = number.mean;
    if (!number.deviation.empty()) out += (latex_ ? " \\pm " : " ± ") + number.deviation;
    const bool bold = cell.comparison && cell.comparison->real();
    if (latex_ && bold) out = fmt::format("\\mathbf{{{}}}", out);
    if (latex_ && (bold || !number.deviation.empty())) out = fmt::format("${}$", out);
    if (!latex_ && bold) out = fmt::format("**{}**", out);
    return cell.sample.n == row.done ? out : out + fmt::format(" (n = {})", cell.sample.n);
  }

  std::string number(std::string_view words) const {
    if (!latex_) return std::string(words);
    constexpr std::string_view kMinus = "−";
    std::string out;
    for (std::size_t at = words.find(kMinus); at != words.npos; at = words.find(kMinus)) {
      out.append(words.substr(0, at)).append("-");
      words.remove_prefix(at + kMinus.size());
    }
    return fmt::format("${}{}$", out, words);
  }

  // cells[0] is the heading; a rule stands above each row of `blocks`.
  std::string table(const Cells& cells, std::size_t text_columns,
                    const std::vector<std::size_t>& blocks = {}) const {
    if (!latex_) return markdown_table(cells, text_columns) + "\n";
    std::string out =
        fmt::format("\\begin{{tabular}}{{{}{}}}\n\\toprule\n", std::string(text_columns, 'l'),
                    std::string(cells[0].size() - text_columns, 'r'));
    for (std::size_t r = 0; r < cells.size(); ++r) {
      if (r > 1 && std::find(blocks.begin(), blocks.end(), r) != blocks.end()) out += "\\midrule\n";
      out += fmt::format("{} \\\\\n", fmt::join(cells[r], " & "));
      if (r == 0) out += "\\midrule\n";
    }
    return out + "\\bottomrule\n\\end{tabular}\n\n";
  }

  std::string notes(const std::vector<std::string>& lines) const {
    std::string out;
    for (const std::string& line : lines)
      out += latex_ ? fmt::format("% {}\n", one_line(line))
                    : fmt::format("- {}\n", markdown_cell(line));
    return out;
  }

 private:
  bool latex_;
};

std::string marked(const StudyRow& row) {
  return row.label + std::string(row.unintended.empty() ? "" : kMark);
}

std::string as_rows(const StudyResults& results, const EvaluatorColumns& part,
                    const Writer& writer) {
  Cells cells = {{writer.text(part.evaluator.empty() ? "Arm" : part.evaluator)}};
  for (const StudyRow& row : results.rows) cells.push_back({writer.text(marked(row))});
  for (std::size_t c = part.first; c < part.first + part.count; ++c) {
    cells[0].push_back(writer.text(results.columns[c].heading));
    const std::vector<MeanText> numbers = mean_texts(results, c);
    for (std::size_t r = 0; r < results.rows.size(); ++r)
      cells[r + 1].push_back(writer.mean(results.rows[r], c, numbers[r]));
  }
  cells[0].push_back("Seeds");
  for (std::size_t r = 0; r < results.rows.size(); ++r)
    cells[r + 1].push_back(seeds_text(results.rows[r]));
  return writer.table(cells, 1);
}

std::string as_blocks(const PaperLayout& layout, const StudyResults& results,
                      const EvaluatorColumns& part, const Writer& writer) {
  Cells cells = {{writer.text(part.evaluator.empty() ? "Data" : part.evaluator), ""}};
  for (const std::string& arm : layout.arms) cells[0].push_back(writer.text(arm));
  std::vector<std::vector<MeanText>> numbers;
  for (std::size_t c = 0; c < part.count; ++c)
    numbers.push_back(mean_texts(results, part.first + c));
  std::vector<std::size_t> blocks;
  for (std::size_t b = 0; b < layout.blocks.size(); ++b) {
    blocks.push_back(cells.size());
    for (std::size_t c = 0; c <= part.count; ++c) {
      const bool seeds = c == part.count;
      auto& line = cells.emplace_back();
      line = {c == 0 ? writer.text(layout.blocks[b]) : "",
              seeds ? "Seeds" : writer.text(results.columns[part.first + c].heading)};
      for (const auto& row : layout.rows[b])
        line.push_back(!row    ? writer.nothing()
                       : seeds ? seeds_text(results.rows[*row])
                               : writer.mean(results.rows[*row], part.first + c, numbers[c][*row]));
    }
  }
  return writer.table(cells, 2, blocks);
}

std::string differences(const StudyResults& results, const Writer& writer) {
  Cells cells = {{"Difference", "to", "Metric", "Mean", "95 % interval", "p", "p, Holm", "Pairs"}};
  for (std::string& heading : cells[0]) heading = writer.text(heading);
  for (const DifferenceLine& line : difference_lines(results))
    cells.push_back({writer.text(line.label), writer.text(line.baseline), writer.text(line.metric),
                     writer.number(line.mean),
                     line.interval.empty() ? writer.nothing() : writer.number(line.interval),
                     line.p, line.adjusted, std::to_string(line.pairs)});
  return cells.size() == 1 ? "" : writer.table(cells, 3);
}

std::vector<std::string> all_notes(const StudyResults& results) {
  std::vector<std::string> out;
  for (const StudyProtocol& protocol : results.protocols)
    for (const std::string& sentence : protocol.sentences)
      out.push_back(fmt::format("{}: {}", protocol.evaluator, sentence));
  for (const auto* lines : {&results.notes, &results.flags, &results.trouble})
    out.insert(out.end(), lines->begin(), lines->end());
  return out;
}

}  // namespace

std::vector<EvaluatorColumns> evaluator_columns(const StudyResults& results) {
  std::vector<EvaluatorColumns> out;
  for (std::size_t c = 0; c < results.columns.size(); ++c) {
    const std::string& evaluator = results.columns[c].evaluator;
    if (out.empty() || out.back().evaluator != evaluator) out.push_back({evaluator, c, 0});
    ++out.back().count;
  }
  return out;
}

std::vector<MeanText> mean_texts(const StudyResults& results, std::size_t column) {
  std::vector<std::optional<double>> numbers;
  for (const StudyRow& row : results.rows) numbers.push_back(row.cells[column].sample.mean);
  for (const StudyRow& row : results.rows) numbers.push_back(row.cells[column].sample.deviation);
  std::vector<std::string> texts;
  if (results.columns[column].percent)
    for (const auto& number : numbers) texts.push_back(format_percent(number));
  else
    texts = format_numbers(numbers);
  std::vector<MeanText> out;
  const std::size_t n = results.rows.size();
  for (std::size_t r = 0; r < n; ++r)
    out.push_back({numbers[r] ? texts[r] : "", numbers[n + r] ? texts[n + r] : ""});
  return out;
}

std::string difference_text(double difference, const MeanText& beside) {
  return format_change(difference, std::array{beside.mean});
}

std::string p_text(std::optional<double> p) {
  if (!p) return "—";
  return *p >= 1e-4 ? fmt::format("{:.3g}", *p) : fmt::format("{:.1e}", *p);
}

std::string seeds_text(const StudyRow& row) {
  return row.done == row.runs.size() ? std::to_string(row.done)
                                     : fmt::format("{} of {}", row.done, row.runs.size());
}

std::vector<DifferenceLine> difference_lines(const StudyResults& results) {
  const bool several = evaluator_columns(results).size() > 1;
  std::vector<std::vector<MeanText>> numbers;
  for (std::size_t c = 0; c < results.columns.size(); ++c)
    numbers.push_back(mean_texts(results, c));
  std::vector<DifferenceLine> out;
  for (std::size_t r = 0; r < results.rows.size(); ++r)
    for (std::size_t c = 0; c < results.columns.size(); ++c) {
      const auto& comparison = results.rows[r].cells[c].comparison;
      if (!comparison || comparison->differences.n == 0) continue;
      const StudyColumn& column = results.columns[c];
      const auto change = [&](double value) { return difference_text(value, numbers[c][r]); };
      const auto& interval = comparison->interval;
      out.push_back(
          {marked(results.rows[r]), results.rows[r].baseline,
           (several ? column.evaluator + " " : "") + column.heading,
           change(*comparison->differences.mean),
           interval ? fmt::format("[{}, {}]", change(interval->low), change(interval->high)) : "",
           p_text(comparison->p), p_text(comparison->adjusted), comparison->differences.n});
    }
  return out;
}

std::map<std::string, std::string> short_axes(const StudyResults& results) {
  std::map<std::string, std::string> out;
  std::map<std::string, int> ends;  // keys that end so
  for (const StudyRow& row : results.rows)
    for (const auto& [key, value] : row.axes)
      if (std::string end = key.substr(key.rfind('.') + 1); out.emplace(key, end).second)
        ++ends[end];
  for (auto& [key, name] : out)
    if (ends[name] > 1) name = key;
  return out;
}

PaperLayout paper_layout(const StudySummary& study, const StudyResults& results) {
  const auto makes_blocks = [&](const std::string& key) {
    if (study.blocks.empty()) return key.starts_with("data.");
    return std::find(study.blocks.begin(), study.blocks.end(), key) != study.blocks.end();
  };
  const auto place_of = [](std::vector<std::string>& names, const std::string& name) {
    const auto it = std::find(names.begin(), names.end(), name);
    const auto at = static_cast<std::size_t>(it - names.begin());
    if (it == names.end()) names.push_back(name);
    return at;
  };
  // "ratio = 100, id = cifar" of the axes that make blocks, or of the others.
  const std::map<std::string, std::string> names = short_axes(results);
  const auto axes_text = [&](const StudyRow& row, bool of_blocks) {
    std::string text;
    for (const auto& [key, value] : row.axes)
      if (makes_blocks(key) == of_blocks)
        text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", names.at(key), value);
    return text;
  };
  PaperLayout out;
  const auto slot = [&](std::size_t block, std::size_t arm) -> std::optional<std::size_t>& {
    if (out.rows.size() <= block) out.rows.resize(block + 1);
    if (out.rows[block].size() <= arm) out.rows[block].resize(arm + 1);
    return out.rows[block][arm];
  };
  for (std::size_t r = 0; r < results.rows.size(); ++r) {
    const StudyRow& row = results.rows[r];
    const std::string rest = axes_text(row, false);
    std::string heading = row.arm + (row.arm.empty() || rest.empty() ? "" : ", ") + rest;
    if (heading.empty()) heading = study.name;
    const std::size_t block = place_of(out.blocks, axes_text(row, true));
    std::optional<std::size_t>* place = &slot(block, place_of(out.arms, heading));
    // Two arms of one name at the same place: the second keeps its whole label.
    if (*place) place = &slot(block, place_of(out.arms, row.label));
    *place = r;
  }
  for (auto& block : out.rows) block.resize(out.arms.size());
  if (out.blocks.size() > 1)
    for (std::string& name : out.blocks)
      if (name.empty()) name = "—";
  return out;
}

std::string study_table(const StudySummary& study, const StudyResults& results,
                        TableFormat format) {
  if (format == TableFormat::csv) return study_csv(study, results);
  if (format == TableFormat::json) return study_json(study, results);
  const Writer writer(format);
  const std::string notes = writer.notes(all_notes(results));
  if (results.rows.empty()) return writer.notes({"The study has no runs"}) + notes;
  const bool blocks = study.layout == "paper";
  const PaperLayout layout = blocks ? paper_layout(study, results) : PaperLayout();
  std::string tables;
  std::vector<EvaluatorColumns> parts = evaluator_columns(results);
  if (parts.empty()) parts.push_back({});  // nothing is done yet: arms and how many seeds
  for (const EvaluatorColumns& part : parts)
    tables += blocks ? as_blocks(layout, results, part, writer) : as_rows(results, part, writer);
  tables += differences(results, writer);
  if (format == TableFormat::markdown) return tables + notes;
  while (tables.ends_with("\n\n")) tables.pop_back();
  return notes + tables;
}

std::string study_table(const StudySummary& study, TableFormat format) {
  const std::vector<RunRecord> runs = load_study_runs(study, ForCurves::no);
  return study_table(study, study_results(study, runs), format);
}

}  // namespace gh::host
