#include "pictures/harmony_pictures.hpp"

#include "image/png_writer.hpp"

#include "gh/plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

namespace gh::host {
namespace {

constexpr const char* kSvg = "image/svg+xml";
constexpr const char* kPng = "image/png";
constexpr int kPlotWidth = 320, kPlotHeight = 280;  // legible in a row of four

// From near black over blue and orange to pale yellow, brighter with every step, so that it can be
// read in grey, too.
std::array<uint8_t, 3> shade(double value) {
  constexpr std::array<std::array<double, 3>, 5> kStops = {
      {{14, 16, 32}, {44, 62, 130}, {140, 80, 120}, {235, 140, 70}, {255, 240, 170}}};
  const double at = std::clamp(value, 0.0, 1.0) * (kStops.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(at), kStops.size() - 2);
  const double part = at - static_cast<double>(below);
  std::array<uint8_t, 3> out{};
  for (std::size_t c = 0; c < 3; ++c)
    out[c] = static_cast<uint8_t>(
        std::lround((1 - part) * kStops[below][c] + part * kStops[below + 1][c]));
  return out;
}

// A matrix with values in 0 … 1 as a picture of about 400 pixels a side.
std::string heat_map(const std::vector<std::vector<double>>& rows) {
  const auto scale = [](std::size_t cells) {
    return std::max<std::size_t>(1, 400 / std::max<std::size_t>(cells, 1));
  };
  const std::size_t tall = scale(rows.size()), wide = scale(rows.front().size());
  InterleavedImage image{
      static_cast<int>(rows.size() * tall), static_cast<int>(rows.front().size() * wide), {}};
  image.pixels.reserve(3 * rows.size() * tall * rows.front().size() * wide);
  for (const std::vector<double>& row : rows)
    for (std::size_t y = 0; y < tall; ++y)
      for (const double value : row) {
        const auto colour = shade(value);
        for (std::size_t x = 0; x < wide; ++x)
          image.pixels.insert(image.pixels.end(), colour.begin(), colour.end());
      }
  return encode_png(image);
}

PlotSeries ranked(std::string name, std::vector<double> values) {
  std::sort(values.begin(), values.end(), std::greater<>());
  std::vector<double> x(values.size());
  std::iota(x.begin(), x.end(), 1.0);
  return {std::move(name), std::move(x), std::move(values)};
}

HarmonyPicture draw_prior(const Harmonizer& harmonizer, const SurrogateStatistics& statistics) {
  const at::Tensor prior = harmonizer.prior().contiguous();
  const std::vector<double> pi(prior.data_ptr<double>(), prior.data_ptr<double>() + prior.numel());
  LinePlot plot;
  plot.title = "prior of the points";
  plot.x_label = "point, largest share first";
  plot.width = kPlotWidth;
  plot.height = kPlotHeight;
  plot.add(ranked("π", pi));
  plot.add(ranked("uniform", std::vector<double>(pi.size(), 1.0 / static_cast<double>(pi.size()))));
  if (statistics.has_classes) {
    double samples = 0;
    for (const int64_t n : statistics.class_sizes) samples += static_cast<double>(n);
    std::vector<double> shares;
    for (const int64_t n : statistics.class_sizes)
      shares.push_back(static_cast<double>(n) / samples);
    plot.add(ranked("classes", std::move(shares)));
  }
  return {"prior",
          "Share of the samples that each point is to receive, beside a uniform one" +
              std::string(statistics.has_classes ? " and the sizes of the classes." : "."),
          kSvg, plot.svg()};
}

HarmonyPicture draw_history(const Harmonizer& harmonizer) {
  const at::Tensor history = harmonizer.share_history().contiguous();
  const int64_t epochs = history.size(0), points = history.size(1);
  const int64_t* counts = history.data_ptr<int64_t>();
  // Columns are epochs, at most 400 of them; rows are points, those that end largest on top.
  const int64_t columns = std::min<int64_t>(epochs, 400);
  std::vector<int64_t> order(static_cast<std::size_t>(points));
  std::iota(order.begin(), order.end(), 0);
  const int64_t* last = counts + (epochs - 1) * points;
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return last[a] > last[b]; });
  std::vector<std::vector<double>> rows;
  for (const int64_t k : order) {
    std::vector<double>& row = rows.emplace_back();
    for (int64_t c = 0; c < columns; ++c) {
      const int64_t* now =
          counts + (columns == 1 ? epochs - 1 : c * (epochs - 1) / (columns - 1)) * points;
      const int64_t most = *std::max_element(now, now + points);
      row.push_back(most == 0 ? 0
                              : std::sqrt(static_cast<double>(now[k]) / static_cast<double>(most)));
    }
  }
  return {"share",
          "Samples per point over the epochs, from left to right; bright: many, black: none "
          "(square root, by epoch). Points that end largest are on top.",
          kPng, heat_map(rows)};
}

HarmonyPicture draw_confusion(const Harmonizer& harmonizer, const SurrogateStatistics& statistics,
                              const at::Tensor& classes) {
  const std::vector<std::size_t> order = statistics.classes_by_size();
  std::vector<std::size_t> rank(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
  const auto points = static_cast<std::size_t>(statistics.points);
  std::vector<std::vector<double>> cells(order.size(), std::vector<double>(points, 0));
  const at::Tensor labels = harmonizer.tracker().labels();
  const int64_t* label = labels.data_ptr<int64_t>();
  const int64_t* of = classes.data_ptr<int64_t>();
  for (int64_t i = 0; i < labels.numel(); ++i)
    if (label[i] >= 0)
      ++cells[rank[static_cast<std::size_t>(of[i])]][static_cast<std::size_t>(label[i])];
  for (std::size_t c = 0; c < cells.size(); ++c)
    for (double& cell : cells[c])
      cell /= static_cast<double>(std::max<int64_t>(statistics.class_sizes[order[c]], 1));
  // Points stand in the order of the class that gives them most, so that agreement is a diagonal.
  std::vector<std::size_t> home(points), columns(points);
  for (std::size_t k = 0; k < points; ++k) {
    std::size_t best = 0;
    for (std::size_t c = 1; c < cells.size(); ++c)
      if (cells[c][k] > cells[best][k]) best = c;
    home[k] = cells[best][k] > 0 ? best : cells.size();
  }
  std::iota(columns.begin(), columns.end(), 0);
  std::stable_sort(columns.begin(), columns.end(),
                   [&](std::size_t a, std::size_t b) { return home[a] < home[b]; });
  std::vector<std::vector<double>> rows;
  for (const std::vector<double>& cell : cells) {
    std::vector<double>& row = rows.emplace_back();
    for (const std::size_t k : columns) row.push_back(std::sqrt(cell[k]));
  }
  return {
      "surrogates",
      "Where the samples of each class go. Rows: classes, largest on top; columns: points, in the "
      "order of the class that gives most of itself; bright: many of the class (square root).",
      kPng, heat_map(rows)};
}

HarmonyPicture draw_spread(const SurrogateStatistics& statistics) {
  PlotSeries series;
  for (const std::size_t c : statistics.classes_by_size()) {
    series.x.push_back(static_cast<double>(series.x.size() + 1));
    series.y.push_back(statistics.class_spread[c]);
  }
  LinePlot plot;
  plot.title = "spread of the classes";
  plot.x_label = "class, largest first";
  plot.width = kPlotWidth;
  plot.height = kPlotHeight;
  plot.add(std::move(series));
  return {"spread",
          "1 − length of the mean of a class's tracked logits, each of unit length: 0 when all "
          "samples of the class point the same way.",
          kSvg, plot.svg()};
}

}  // namespace

std::vector<HarmonyPicture> draw_harmony(const Harmonizer& harmonizer, const at::Tensor& classes) {
  const SurrogateStatistics statistics = harmonizer.statistics();
  std::vector<HarmonyPicture> out = {draw_prior(harmonizer, statistics)};
  if (harmonizer.share_history().size(0) > 0) out.push_back(draw_history(harmonizer));
  if (!statistics.has_classes) return out;
  out.push_back(draw_confusion(harmonizer, statistics, classes));
  out.push_back(draw_spread(statistics));
  return out;
}

}  // namespace gh::host
