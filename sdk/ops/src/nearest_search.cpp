#include "nearest_search.hpp"

#include "patience.hpp"

#include "gh/error.hpp"
#include "gh/ops/parallel.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

namespace gh {
inline namespace v1 {
namespace {

using ops::NearestMetric;
using ops::NearestResult;

constexpr int64_t kChunk = 512;                      // rows whose sums one thread takes
constexpr int64_t kMostQueries = 256;                // of a block
constexpr int64_t kQueryBytes = int64_t{512} << 10;  // of a block: they stay in the second cache
constexpr int64_t kRoomBytes = int64_t{64} << 20;
constexpr float kNone = -std::numeric_limits<float>::max();  // above −∞, the score of no row

template <class T>
struct Rows {
  const T* data;
  int64_t count, width;
  const T* row(int64_t i) const { return data + i * width; }
};

template <class T>
Rows<T> rows_of(const at::Tensor& x) {
  return {static_cast<const T*>(x.const_data_ptr()), x.size(0), x.size(1)};
}

void require_finite(const at::Tensor& x, const char* name) {
  const at::Tensor bad = at::isfinite(x).all(1).logical_not().nonzero();
  if (bad.numel() > 0)
    fail(ErrorCode::numeric, "nearest: row ", bad[0][0].item<int64_t>(), " of ", name,
         " is not finite");
}

struct Extent {
  std::vector<double> means;  // of columns
  double largest = 0;         // |coordinate|
};

template <class T>
Extent extent(const at::Tensor& x, const char* name) {
  const Rows<T> rows = rows_of<T>(x);
  const int64_t chunks = (rows.count + kChunk - 1) / kChunk;
  const double share = 1 / static_cast<double>(rows.count);
  std::vector<Extent> parts(static_cast<std::size_t>(chunks));
  ops::parallel_indices(chunks, [&](int64_t c) {
    Extent& part = parts[static_cast<std::size_t>(c)];
    part.means.assign(static_cast<std::size_t>(rows.width), 0);
    double odd = 0;  // NaN once a coordinate is not finite
    for (int64_t i = c * kChunk; i < std::min(rows.count, (c + 1) * kChunk); ++i)
      for (int64_t d = 0; d < rows.width; ++d) {
        const auto value = static_cast<double>(rows.row(i)[d]);
        part.means[static_cast<std::size_t>(d)] += value * share;
        part.largest = std::max(part.largest, std::abs(value));
        odd += value - value;
      }
    if (odd != 0) part.largest = odd;
  });
  Extent out{std::vector<double>(static_cast<std::size_t>(rows.width), 0)};
  for (const Extent& part : parts) {
    if (std::isnan(part.largest)) require_finite(x, name);
    out.largest = std::max(out.largest, part.largest);
    for (std::size_t d = 0; d < out.means.size(); ++d) out.means[d] += part.means[d];
  }
  return out;
}

// All that blocks of queries share.
template <class T>
class Bank {
 public:
  Bank(const at::Tensor& bank, const Extent& extent, double largest, NearestMetric metric,
       const NearestKernels<T>& kernels)
      : kernels_(kernels), rows_(rows_of<T>(bank)), metric_(metric), centre_(extent.means) {
    // Coordinates below 1 in size: sums of a width's products stay far from where float32 ends.
    frame_ = {centre_.data(), std::exp2(-std::ceil(std::log2(std::max(largest, 1e-300))) - 1),
              rows_.width};
    for (const double c : centre_) offset_ += std::pow(c * frame_.scale, 2);
    offset_ = std::sqrt(offset_);
    pack();
  }

  int64_t panels() const { return (rows_.count + kernels_.panel - 1) / kernels_.panel; }
  const NearestFrame& frame() const { return frame_; }
  const T* row(int64_t i) const { return rows_.row(i); }

  void scan(int64_t panel, const void* tiles, int64_t queries, const NearestRoom& room) const {
    kernels_.scan(tiles, queries, image(panel), bias_.get() + panel * kernels_.panel,
                  static_cast<int32_t>(panel * kernels_.panel), rows_.width, room);
  }

  // Larger is nearer; what the order is made of.
  double exact(const T* query, int64_t row) const {
    return metric_ == NearestMetric::inner_product
               ? kernels_.product(query, rows_.row(row), rows_.width)
               : -kernels_.distance(query, rows_.row(row), rows_.width);
  }

  // How far a coarse score of this query can be from the exact one, both as products of centred and
  // scaled rows: by rounding images (Cauchy–Schwarz), by summing them in float32, and by the
  // float64 sums themselves, which see rows that are not centred.
  double margin(const NearestImage& query) const {
    const double length = std::sqrt(query.square), error = std::sqrt(query.error);
    const double terms = static_cast<double>(rows_.width + 8);
    const double images = error * longest_ + (length + error) * worst_;
    const double sums = (length + error) * (longest_ + worst_) + largest_bias_;
    const double all = length + longest_ + offset_;
    return images + terms * (0x1p-23 * sums + 0x1p-52 * all * all) + 1e-30;
  }

 private:
  std::byte* image(int64_t panel) const {
    return static_cast<std::byte*>(images_.data_ptr()) +
           panel * kernels_.bytes(rows_.width, kernels_.panel);
  }

  void pack() {
    const int64_t size = kernels_.panel;
    images_ = at::empty({panels() * kernels_.bytes(rows_.width, size)}, at::kByte);
    bias_ = std::make_unique<float[]>(static_cast<std::size_t>(panels() * size));
    std::vector<NearestImage> worst(static_cast<std::size_t>(panels()));
    ops::parallel_indices(panels(), [&](int64_t panel) {
      NearestImage& most = worst[static_cast<std::size_t>(panel)];
      const int64_t count = std::min(size, rows_.count - panel * size);
      std::byte* const out = image(panel);
      if (count < size) std::fill_n(out, kernels_.bytes(rows_.width, size), std::byte{});
      float* const bias = bias_.get() + panel * size;
      std::fill_n(bias, size, -std::numeric_limits<float>::infinity());
      for (int64_t i = 0; i < count; ++i) {
        const NearestImage made = kernels_.pack(rows_.row(panel * size + i), frame_, i, size, out);
        // q·y = (q − m)·(y − m) + m·(y − m) + what the query alone decides;
        // −|q − y|²/2 = (q − m)·(y − m) − |y − m|²/2 + what the query alone decides.
        const double own = metric_ == NearestMetric::inner_product ? made.along : -made.square / 2;
        bias[i] = static_cast<float>(own);
        most.square = std::max(most.square, made.square);
        most.error = std::max(most.error, made.error);
        most.along = std::max(most.along, std::abs(own));
      }
    });
    for (const NearestImage& most : worst) {
      longest_ = std::max(longest_, std::sqrt(most.square));
      worst_ = std::max(worst_, std::sqrt(most.error));
      largest_bias_ = std::max(largest_bias_, most.along);
    }
  }

  const NearestKernels<T>& kernels_;
  Rows<T> rows_;
  NearestMetric metric_;
  std::vector<double> centre_;
  NearestFrame frame_;
  double offset_ = 0;  // |centre|·scale
  at::Tensor images_;
  std::unique_ptr<float[]> bias_;
  double longest_ = 0, worst_ = 0, largest_bias_ = 0;
};

struct Found {
  double exact;
  float coarse;
  int32_t id;
};
bool nearer(const Found& a, const Found& b) {
  return a.exact != b.exact ? a.exact > b.exact : a.id < b.id;
}

// One block of queries; used again for the next one.
template <class T>
class Block {
 public:
  Block(const Bank<T>& bank, const NearestKernels<T>& kernels, int64_t most, int64_t k,
        int64_t capacity)
      : bank_(bank), kernels_(kernels), k_(k), capacity_(capacity) {
    tiles_ = at::empty({most / kernels.tile * tile_bytes()}, at::kByte);
    scores_ = at::empty({most * capacity}, at::kFloat);
    ids_ = at::empty({most * capacity}, at::kInt);
    thresholds_.resize(static_cast<std::size_t>(most));
    margins_.resize(static_cast<std::size_t>(most));
    filled_.resize(static_cast<std::size_t>(most));
    settled_.resize(static_cast<std::size_t>(most));
    room_ = {thresholds_.data(), filled_.data(), scores_.template data_ptr<float>(),
             ids_.template data_ptr<int32_t>(), capacity};
  }

  void search(const Rows<T>& queries) {
    queries_ = queries;
    begin();
    for (int64_t panel = 0; panel < bank_.panels(); ++panel) {
      bank_.scan(panel, tiles_.data_ptr(), queries.count, room_);
      for (int64_t q = 0; q < queries.count; ++q)
        if (room_.filled[q] + kernels_.panel > capacity_) make_room(q);
    }
    for (int64_t q = 0; q < queries.count; ++q) finish(q);
  }

  // The k nearest of a query, nearest first.
  const std::vector<Found>& found(int64_t q) const { return settled_[static_cast<std::size_t>(q)]; }

 private:
  int64_t tile_bytes() const { return kernels_.bytes(bank_.frame().width, kernels_.tile); }

  void begin() {
    const int64_t tile = kernels_.tile, tiles = (queries_.count + tile - 1) / tile;
    auto* const out = static_cast<std::byte*>(tiles_.data_ptr());
    std::fill_n(out, tiles * tile_bytes(), std::byte{});
    for (int64_t q = 0; q < tiles * tile; ++q) {
      const auto at = static_cast<std::size_t>(q);
      filled_[at] = 0;
      thresholds_[at] = q < queries_.count ? kNone : std::numeric_limits<float>::infinity();
      settled_[at].clear();
      if (q < queries_.count)
        margins_[at] = bank_.margin(kernels_.pack(queries_.row(q), bank_.frame(), q % tile, tile,
                                                  out + q / tile * tile_bytes()));
    }
  }

  // A row whose coarse score lies two margins below that of k others cannot be among the nearest:
  // its exact score is at most one above, theirs at most one below.
  void raise_threshold(int64_t q, float reached) {
    const double limit = static_cast<double>(reached) - 2 * margins_[static_cast<std::size_t>(q)];
    const float below = std::nextafter(static_cast<float>(limit), kNone);
    room_.thresholds[q] = std::max(room_.thresholds[q], below);
  }

  // Drops rows that the best k so far rule out.
  void tighten(int64_t q) {
    int32_t& filled = room_.filled[q];
    if (filled <= k_) return;
    float* const scores = room_.scores + q * capacity_;
    int32_t* const ids = room_.ids + q * capacity_;
    order_.assign(scores, scores + filled);
    std::nth_element(order_.begin(), order_.begin() + (k_ - 1), order_.end(), std::greater<>());
    raise_threshold(q, order_[static_cast<std::size_t>(k_ - 1)]);
    int32_t kept = 0;
    for (int32_t i = 0; i < filled; ++i) {
      scores[kept] = scores[i];
      ids[kept] = ids[i];
      kept += scores[i] >= room_.thresholds[q];
    }
    filled = kept;
  }

  // Computes exactly what has come together and keeps the best k.
  void settle(int64_t q) {
    std::vector<Found>& settled = settled_[static_cast<std::size_t>(q)];
    const int32_t* const ids = room_.ids + q * capacity_;
    for (int32_t i = 0; i < room_.filled[q]; ++i) {
      if (i + 1 < room_.filled[q]) prefetch(ids[i + 1]);
      settled.push_back(
          {bank_.exact(queries_.row(q), ids[i]), room_.scores[q * capacity_ + i], ids[i]});
    }
    room_.filled[q] = 0;
    if (static_cast<int64_t>(settled.size()) < k_) return;
    std::nth_element(settled.begin(), settled.begin() + (k_ - 1), settled.end(), nearer);
    settled.resize(static_cast<std::size_t>(k_));
    raise_threshold(q, settled.back().coarse);
  }

  void prefetch(int32_t row) const {
    constexpr int64_t kLine = 64 / sizeof(T);
    for (int64_t d = 0; d < queries_.width; d += kLine) __builtin_prefetch(bank_.row(row) + d);
  }

  // Where coarse scores do not tell enough rows apart, exact ones do.
  void make_room(int64_t q) {
    if (settled_[static_cast<std::size_t>(q)].empty()) {
      tighten(q);
      if (2 * room_.filled[q] <= capacity_) return;
    }
    settle(q);
  }

  void finish(int64_t q) {
    if (settled_[static_cast<std::size_t>(q)].empty()) tighten(q);
    settle(q);
    std::vector<Found>& settled = settled_[static_cast<std::size_t>(q)];
    std::sort(settled.begin(), settled.end(), nearer);
  }

  const Bank<T>& bank_;
  const NearestKernels<T>& kernels_;
  int64_t k_, capacity_;
  Rows<T> queries_{};
  at::Tensor tiles_, scores_, ids_;
  std::vector<float> thresholds_, order_;
  std::vector<double> margins_;
  std::vector<int32_t> filled_;
  std::vector<std::vector<Found>> settled_;
  NearestRoom room_{};
};

template <class T>
void write(const std::vector<Found>& found, NearestMetric metric, int64_t* indices, T* values) {
  for (std::size_t j = 0; j < found.size(); ++j) {
    indices[j] = found[j].id;
    const double exact = found[j].exact;
    require(std::isfinite(exact), ErrorCode::numeric,
            "nearest: rows are so long that their products exceed float64");
    values[j] = static_cast<T>(metric == NearestMetric::euclidean ? std::sqrt(-exact) : exact);
  }
}

// Queries a block: as many as stay in the cache and as fill a room, and for each worker some.
template <class T>
int64_t block_size(int64_t queries, int64_t width, int64_t capacity, int64_t workers,
                   const NearestKernels<T>& kernels) {
  const int64_t tile = kernels.tile;
  int64_t tiles = std::min({kMostQueries / tile, kQueryBytes / kernels.bytes(width, tile),
                            kRoomBytes / (8 * capacity * tile)});
  tiles = std::min(tiles, (queries + workers * tile - 1) / (workers * tile));
  return std::max<int64_t>(tiles, 1) * tile;
}

}  // namespace

template <class T>
NearestResult search_nearest(const at::Tensor& bank, const at::Tensor& queries, int64_t k,
                             NearestMetric metric, const NearestKernels<T>& kernels) {
  const at::Tensor y = bank.contiguous(), x = queries.contiguous();
  const int64_t count = x.size(0), width = x.size(1);
  NearestResult out{at::empty({count, k}, at::kLong), at::empty({count, k}, x.options())};
  const Extent extents = extent<T>(y, "the bank");
  const double largest = std::max(extents.largest, extent<T>(x, "the queries").largest);
  if (count == 0) return out;
  const Bank<T> images(y, extents, largest, metric, kernels);

  const int64_t capacity = 3 * k + 4 * kernels.panel;
  const int64_t workers = std::max(at::get_num_threads(), 1);
  const int64_t size = block_size(count, width, capacity, workers, kernels);
  std::vector<std::unique_ptr<Block<T>>> blocks(static_cast<std::size_t>(workers));
  auto* const indices = out.indices.template data_ptr<int64_t>();
  auto* const values = static_cast<T*>(out.values.data_ptr());
  const ops::Patience patience;
  ops::parallel_pieces((count + size - 1) / size, workers, [&](int64_t piece, int64_t worker) {
    if (patience.over()) return;  // thrown below, on the thread that called
    auto& block = blocks[static_cast<std::size_t>(worker)];
    if (!block) block = std::make_unique<Block<T>>(images, kernels, size, k, capacity);
    const int64_t first = piece * size, some = std::min(size, count - first);
    block->search({rows_of<T>(x).row(first), some, width});
    for (int64_t q = 0; q < some; ++q)
      write(block->found(q), metric, indices + (first + q) * k, values + (first + q) * k);
  });
  patience.check();
  return out;
}

template NearestResult search_nearest(const at::Tensor&, const at::Tensor&, int64_t, NearestMetric,
                                      const NearestKernels<float>&);
template NearestResult search_nearest(const at::Tensor&, const at::Tensor&, int64_t, NearestMetric,
                                      const NearestKernels<double>&);

}  // namespace v1
}  // namespace gh
