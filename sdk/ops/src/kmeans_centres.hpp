// The centres of K-means as its kernels read them.
#pragma once

#include "kmeans_rows.hpp"

#include <cmath>
#include <limits>
#include <numeric>

namespace gh {
inline namespace v1 {

// Centres in the order of groups: each begins with the first centre that is left and takes those
// next to it, so that a row far from one is far from all.
template <class T>
std::vector<int32_t> neighbours_together(const T* centres, int64_t count, int64_t width,
                                         int64_t group) {
  std::vector<int32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::vector<double> apart(count);
  for (int64_t begin = 0; begin + group < count; begin += group) {
    const T* const seed = centres + order[begin] * width;
    ops::parallel_indices(count - begin, [&](int64_t i) {
      const int32_t c = order[begin + i];
      double sum = 0;
      for (int64_t d = 0; d < width; ++d) {
        const double e = static_cast<double>(centres[c * width + d] - seed[d]);
        sum += e * e;
      }
      apart[c] = sum;
    });
    std::nth_element(
        order.begin() + begin, order.begin() + begin + group - 1, order.end(),
        [&](int32_t a, int32_t b) { return apart[a] != apart[b] ? apart[a] < apart[b] : a < b; });
    std::sort(order.begin() + begin + group, order.end());
  }
  return order;
}

// Centres by place, and the same packed into panels.
template <class T>
class Centres {
 public:
  Centres(const at::Tensor& start, ops::KMeansMetric metric, const KMeansKernels<T>& kernels)
      : metric_(metric),
        lanes_(kernels.lanes),
        count_(start.size(0)),
        width_(start.size(1)),
        span_(cut(count_, kKMeansGroups)),
        places_(cut(cut(count_, span_), lanes_) * lanes_ * span_),
        by_place_(kmeans_room<T>({places_, width_}).zero_()),
        packed_(kmeans_room<T>({places_ * width_}).zero_()),
        biases_(places_, -std::numeric_limits<T>::infinity()),
        ids_(places_, -1),
        place_of_(count_),
        lengths_(count_),
        moved_(groups()),
        drift_(groups()) {
    std::vector<int32_t> order(count_);
    std::iota(order.begin(), order.end(), 0);
    if (span_ > 1) order = neighbours_together(start.data_ptr<T>(), count_, width_, span_);
    for (int64_t i = 0; i < count_; ++i) {
      const int64_t group = i / span_, vector = group / lanes_ * span_ + i % span_;
      place_of_[order[i]] = static_cast<int32_t>(vector * lanes_ + group % lanes_);
      ids_[place_of_[order[i]]] = order[i];
    }
    const int64_t vectors = places_ / lanes_, panels = cut(vectors, kernels.panel);
    for (int64_t p = 0, first = 0; p < panels; first += panels_[p++].vectors) {
      const int64_t size = vectors / panels + (p < vectors % panels);
      panels_.push_back({packed_.template data_ptr<T>() + first * lanes_ * width_, first, size});
      panel_of_.insert(panel_of_.end(), size, static_cast<int32_t>(p));
    }
    for (int64_t j = 0; j < count_; ++j) put(j, start.data_ptr<T>() + j * width_);
  }

  int64_t groups() const { return places_ / span_; }
  int64_t places() const { return places_; }
  at::Tensor rows() const {
    const at::Tensor out = kmeans_room<T>({count_, width_});
    for (int64_t j = 0; j < count_; ++j)
      std::copy_n(centre(j), width_, out.template data_ptr<T>() + j * width_);
    return out;
  }
  const T* centre(int64_t j) const {
    return by_place_.template data_ptr<T>() + place_of_[j] * width_;
  }

  void describe(KMeansRound<T>& round) {
    round.offset = metric_ == ops::KMeansMetric::spherical ? 1 : 0;
    round.panels = panels_.data();
    round.panel_count = static_cast<int64_t>(panels_.size());
    round.centres = by_place_.template data_ptr<T>();
    round.places = places_;
    round.span = span_;
    round.biases = biases_.data();
    round.ids = ids_.data();
    round.place_of = place_of_.data();
    round.longest = *std::max_element(lengths_.begin(), lengths_.end());
    round.drift = drift_.data();
  }

  // Replaces all; true where one moved.
  bool move_to(const std::vector<double>& centres) {
    std::vector<double> by(count_), most(groups());
    ops::parallel_indices(count_, [&](int64_t j) { by[j] = put(j, centres.data() + j * width_); });
    for (int64_t j = 0; j < count_; ++j) {
      const int64_t vector = place_of_[j] / lanes_, lane = place_of_[j] % lanes_;
      double& group = most[vector / span_ * lanes_ + lane];
      group = std::max(group, by[j]);
    }
    for (int64_t g = 0; g < groups(); ++g) {
      moved_[g] += most[g];
      drift_[g] = static_cast<T>(moved_[g] * (1 + 8 * std::numeric_limits<T>::epsilon()));
    }
    return *std::max_element(by.begin(), by.end()) > 0;
  }

 private:
  // Puts a centre wherever it is kept; by how much it moved.
  template <class Value>
  double put(int64_t j, const Value* to) {
    const int64_t place = place_of_[j];
    const KMeansPanel<T>& panel = panels_[panel_of_[place / lanes_]];
    const int64_t distance = panel.vectors * lanes_;
    T* const row = by_place_.template data_ptr<T>() + place * width_;
    T* const packed = const_cast<T*>(panel.centres) + place - panel.first * lanes_;
    const double moved = sum_of(width_, [&](int64_t d) {
      const double by = static_cast<double>(static_cast<T>(to[d])) - static_cast<double>(row[d]);
      return by * by;
    });
    for (int64_t d = 0; d < width_; ++d) row[d] = packed[d * distance] = static_cast<T>(to[d]);
    const double square = sum_of(width_, [&](int64_t d) {
      return static_cast<double>(row[d]) * static_cast<double>(row[d]);
    });
    biases_[place] = metric_ == ops::KMeansMetric::spherical ? T(0) : static_cast<T>(-square / 2);
    lengths_[j] = static_cast<T>(std::sqrt(square) * 1.000001);
    return std::sqrt(moved);
  }

  ops::KMeansMetric metric_;
  int64_t lanes_, count_, width_, span_, places_;
  at::Tensor by_place_, packed_;  // aligned as vectors like it
  std::vector<T> biases_;
  std::vector<KMeansId<T>> ids_;
  std::vector<int32_t> place_of_, panel_of_;  // of a centre, of a vector
  std::vector<KMeansPanel<T>> panels_;
  std::vector<T> lengths_;
  std::vector<double> moved_;  // as drift_, exactly
  std::vector<T> drift_;
};

}  // namespace v1
}  // namespace gh
