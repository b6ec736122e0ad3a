#include "contrastive_pass.hpp"

#include "gh/ops/parallel.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace gh {
inline namespace v1 {
namespace {

constexpr int64_t up_to(int64_t n, int64_t part) { return (n + part - 1) / part * part; }

// Rows of one side: whole blocks and vectors of them, and if they are to be columns, panels too.
template <class T>
class Side {
 public:
  Side(const at::Tensor& x, const ContrastiveKernels<T>& kernels)
      : count(x.size(0)),
        width(x.size(1)),
        step(up_to(width, kernels.lanes)),
        rows_(at::zeros({up_to(count, kContrastiveRows), step}, x.options())) {
    rows_.narrow(0, 0, count).narrow(1, 0, width).copy_(x);
  }

  void pack(int64_t panel) {
    const int64_t panels = (count + panel - 1) / panel;
    panels_ = at::empty({panels, width, panel}, rows_.options());
    ops::parallel_indices(panels, [&](int64_t p) {
      T* const to = panels_.template data_ptr<T>() + p * width * panel;
      const int64_t here = std::min(panel, count - p * panel);
      for (int64_t c = 0; c < panel; ++c) {
        const T* const from = c < here ? row(p * panel + c) : nullptr;
        for (int64_t k = 0; k < width; ++k) to[k * panel + c] = from ? from[k] : T(0);
      }
    });
  }

  int64_t blocks() const { return rows_.size(0) / kContrastiveRows; }
  const T* row(int64_t i) const { return rows_.template data_ptr<T>() + i * step; }
  // From column `first` on, the first of a panel.
  const T* panel(int64_t first) const { return panels_.template data_ptr<T>() + first * width; }

  const int64_t count, width, step;

 private:
  at::Tensor rows_, panels_;
};

// [n] as kernels read them, up to whole blocks of either side.
template <class T>
std::vector<T> padded(const std::vector<double>& values, double fill) {
  std::vector<T> out(values.begin(), values.end());
  out.resize(values.size() + kContrastiveRows + kContrastiveColumns, static_cast<T>(fill));
  return out;
}

constexpr int64_t kBlockSize = kContrastiveRows * kContrastiveColumns;

// Where the scores of a block are kept: [blocks][blocks of columns][kBlockSize].
template <class T>
T* kept_block(const at::Tensor& kept, int64_t block, int64_t first) {
  return kept.data_ptr<T>() + (block * kept.size(1) + first / kContrastiveColumns) * kBlockSize;
}

// Products of some blocks of one side's rows with all of the other's. Those of pairs that are no
// negatives are −∞.
template <class T>
class Blocks {
 public:
  // own_rows: the first side are the problem's rows, otherwise its columns. `kept`: the products,
  // or undefined.
  Blocks(const Side<T>& own, const Side<T>& other, bool own_rows, const ContrastiveScores& scores,
         const ContrastiveKernels<T>& kernels, const at::Tensor& kept)
      : own_(own),
        other_(other),
        own_rows_(own_rows),
        scores_(scores),
        kernels_(kernels),
        kept_(kept) {}

  // work(first, count, whole, scores) for each block of the other side: `count` of its rows from
  // `first` on, `whole` with what fills up vectors; scores [kContrastiveRows] rows at a distance of
  // kContrastiveColumns.
  template <class Work>
  void each(int64_t block, T* room, Work work) const {
    for (int64_t first = 0; first < other_.count; first += kContrastiveColumns) {
      const int64_t count = std::min(kContrastiveColumns, other_.count - first);
      const int64_t whole = up_to(count, kernels_.lanes);
      if (kept_.defined())
        std::copy_n(kept_block<T>(kept_, block, first), kBlockSize, room);
      else
        make(block * kContrastiveRows, first, count, whole, room);
      work(first, count, whole, room);
    }
  }

 private:
  static constexpr T kNone = -std::numeric_limits<T>::infinity();

  void make(int64_t begin, int64_t first, int64_t count, int64_t whole, T* room) const {
    for (int64_t at = 0; at < whole; at += kernels_.panel)
      kernels_.multiply({own_.row(begin), own_.step, other_.panel(first + at), kernels_.panel,
                         own_.width, std::min(kernels_.panel, whole - at), room + at,
                         kContrastiveColumns, false});
    leave_out(begin, first, count, room);
    for (int64_t r = 0; r < kContrastiveRows; ++r)
      std::fill(room + r * kContrastiveColumns + count, room + r * kContrastiveColumns + whole,
                kNone);
  }

  void leave_out(int64_t begin, int64_t first, int64_t count, T* room) const {
    const int64_t rows_at = own_rows_ ? begin : first;
    const int64_t rows_end =
        std::min(rows_at + (own_rows_ ? kContrastiveRows : count), scores_.rows.size(0));
    const int64_t columns_at = own_rows_ ? first : begin;
    const int64_t columns_end = columns_at + (own_rows_ ? count : kContrastiveRows);
    const auto leave = [&](int64_t row, int64_t column) {
      if (column < columns_at || column >= columns_end) return;
      const int64_t r = (own_rows_ ? row : column) - begin, c = (own_rows_ ? column : row) - first;
      room[r * kContrastiveColumns + c] = kNone;
    };
    for (int64_t i = rows_at; i < rows_end; ++i) {
      if (!scores_.positive.empty()) leave(i, scores_.positive[i]);
      if (!scores_.skipped.empty()) leave(i, scores_.skipped[i]);
    }
  }

  const Side<T>&own_, &other_;
  bool own_rows_;
  const ContrastiveScores& scores_;
  const ContrastiveKernels<T>& kernels_;
  const at::Tensor& kept_;
};

// run(block, room), in parallel, with room for a block's scores.
template <class T, class Run>
void for_blocks(int64_t blocks, const at::TensorOptions& options, Run run) {
  const int64_t workers = at::get_num_threads();
  const at::Tensor rooms = at::empty({workers, kContrastiveRows, kContrastiveColumns}, options);
  ops::parallel_pieces(blocks, workers, [&](int64_t block, int64_t worker) {
    run(block, rooms.data_ptr<T>() + worker * kContrastiveRows * kContrastiveColumns);
  });
}

template <class T>
const T* positive_row(const ContrastiveScores& s, int64_t i) {
  const int64_t width = s.rows.size(1);
  return s.positives.defined() ? s.positives.data_ptr<T>() + i * width
                               : s.all().data_ptr<T>() + s.positive[i] * width;
}

// Σ of weights times the other side's rows, for each row of the first side.
template <class T>
struct Accumulation {
  const Side<T>&own, &other;
  ContrastiveSide<T> of_own, of_other;  // those of a side that has none are null

  void block(const Blocks<T>& blocks, int64_t block, T* room, T* sums,
             const ContrastiveKernels<T>& kernels) const {
    const int64_t begin = block * kContrastiveRows, step = own.step;
    const auto from = [](const ContrastiveSide<T>& side, int64_t at) {
      return side.weight
                 ? ContrastiveSide<T>{side.weight + at, side.inverse + at, side.log_sum + at}
                 : ContrastiveSide<T>{};
    };
    blocks.each(block, room, [&](int64_t first, int64_t count, int64_t whole, T* scores) {
      kernels.weights(scores, whole, kContrastiveColumns, from(of_own, begin),
                      from(of_other, first));
      for (int64_t at = 0; at < step; at += kernels.panel)
        kernels.multiply({scores, kContrastiveColumns, other.row(first) + at, step, count,
                          std::min(kernels.panel, step - at), sums + at, step, first > 0});
    });
  }
};

template <class T>
struct Padded {
  Padded(const ContrastiveScores& s, const ContrastiveWeights& w)
      : weight(padded<T>(w.weight, 0)),
        inverse(padded<T>(s.inverse, 1)),
        log_sum(padded<T>(w.log_sum, 0)) {}
  ContrastiveSide<T> side() const { return {weight.data(), inverse.data(), log_sum.data()}; }
  std::vector<T> weight, inverse, log_sum;
};

template <class T>
at::Tensor accumulate(const Accumulation<T>& sums, bool own_rows, const ContrastiveScores& s,
                      const ContrastiveKernels<T>& kernels, const at::Tensor& kept) {
  const Blocks<T> blocks(sums.own, sums.other, own_rows, s, kernels, kept);
  const at::Tensor out =
      at::zeros({sums.own.blocks() * kContrastiveRows, sums.own.step}, s.rows.options());
  for_blocks<T>(sums.own.blocks(), s.rows.options(), [&](int64_t block, T* room) {
    sums.block(blocks, block, room, out.data_ptr<T>() + block * kContrastiveRows * sums.own.step,
               kernels);
  });
  return out.narrow(0, 0, sums.own.count).narrow(1, 0, sums.own.width).contiguous();
}

}  // namespace

template <class T>
std::vector<double> negative_log_sums(const ContrastiveScores& s,
                                      const ContrastiveKernels<T>& kernels, at::Tensor* kept) {
  const Side<T> rows(s.rows, kernels);
  Side<T> columns(s.all(), kernels);
  columns.pack(kernels.panel);
  const at::Tensor none;
  const Blocks<T> blocks(rows, columns, true, s, kernels, none);
  if (rows.count * columns.count > kContrastiveKept) kept = nullptr;
  if (kept)
    *kept = at::empty({rows.blocks(),
                       up_to(columns.count, kContrastiveColumns) / kContrastiveColumns, kBlockSize},
                      s.rows.options());
  const std::vector<T> inverse = padded<T>(s.inverse, 1);
  std::vector<double> out(rows.blocks() * kContrastiveRows);
  for_blocks<T>(rows.blocks(), s.rows.options(), [&](int64_t block, T* room) {
    const int64_t begin = block * kContrastiveRows;
    T largest[kContrastiveRows];
    double sums[kContrastiveRows] = {};
    std::fill_n(largest, kContrastiveRows, -std::numeric_limits<T>::infinity());
    blocks.each(block, room, [&](int64_t first, int64_t, int64_t whole, T* scores) {
      if (kept) std::copy_n(scores, kBlockSize, kept_block<T>(*kept, block, first));
      kernels.log_sums(scores, whole, kContrastiveColumns, inverse.data() + begin, largest, sums);
    });
    for (int64_t r = 0; r < kContrastiveRows; ++r)
      out[begin + r] = sums[r] == 0 ? -std::numeric_limits<double>::infinity()
                                    : static_cast<double>(largest[r]) + std::log(sums[r]);
  });
  out.resize(rows.count);
  return out;
}

template <class T>
std::vector<double> positive_scores(const ContrastiveScores& s) {
  const int64_t count = s.rows.size(0), width = s.rows.size(1);
  std::vector<double> out(count);
  ops::parallel_indices(count, [&](int64_t i) {
    const T *const a = s.rows.data_ptr<T>() + i * width, *const b = positive_row<T>(s, i);
    double sums[4] = {};
    for (int64_t d = 0; d < width; ++d)
      sums[d % 4] += static_cast<double>(a[d]) * static_cast<double>(b[d]);
    out[i] = ((sums[0] + sums[1]) + (sums[2] + sums[3])) * s.inverse[i];
  });
  return out;
}

template <class T>
at::Tensor rows_gradient(const ContrastiveScores& s, const ContrastiveWeights& weights,
                         const ContrastiveKernels<T>& kernels, const at::Tensor& kept) {
  const Side<T> rows(s.rows, kernels);
  Side<T> columns(s.all(), kernels);
  if (!kept.defined()) columns.pack(kernels.panel);
  const Padded<T> of_rows(s, weights);
  const at::Tensor out = accumulate<T>(
      {rows, columns, of_rows.side(), s.among_rows() ? of_rows.side() : ContrastiveSide<T>{}}, true,
      s, kernels, kept);
  ops::parallel_indices(rows.count, [&](int64_t i) {
    double w = weights.weight[i];
    if (s.among_rows()) w += weights.weight[s.positive[i]];
    const T* const from = positive_row<T>(s, i);
    T* const to = out.data_ptr<T>() + i * rows.width;
    for (int64_t d = 0; d < rows.width; ++d) to[d] -= static_cast<T>(w) * from[d];
  });
  return out;
}

template <class T>
at::Tensor columns_gradient(const ContrastiveScores& s, const ContrastiveWeights& weights,
                            const ContrastiveKernels<T>& kernels) {
  const Side<T> columns(s.columns, kernels);
  Side<T> rows(s.rows, kernels);
  rows.pack(kernels.panel);
  const Padded<T> of_rows(s, weights);
  const at::Tensor out =
      accumulate<T>({columns, rows, ContrastiveSide<T>{}, of_rows.side()}, false, s, kernels, {});
  // One after the other: a column may be the positive of several rows.
  for (size_t i = 0; i < s.positive.size(); ++i) {
    const T* const from = rows.row(static_cast<int64_t>(i));
    T* const to = out.data_ptr<T>() + s.positive[i] * rows.width;
    for (int64_t d = 0; d < rows.width; ++d) to[d] -= static_cast<T>(weights.weight[i]) * from[d];
  }
  return out;
}

#define GH_CONTRASTIVE(T)                                                                    \
  template std::vector<double> negative_log_sums(const ContrastiveScores&,                   \
                                                 const ContrastiveKernels<T>&, at::Tensor*); \
  template std::vector<double> positive_scores<T>(const ContrastiveScores&);                 \
  template at::Tensor rows_gradient(const ContrastiveScores&, const ContrastiveWeights&,     \
                                    const ContrastiveKernels<T>&, const at::Tensor&);        \
  template at::Tensor columns_gradient(const ContrastiveScores&, const ContrastiveWeights&,  \
                                       const ContrastiveKernels<T>&);
GH_CONTRASTIVE(float)
GH_CONTRASTIVE(double)
#undef GH_CONTRASTIVE

}  // namespace v1
}  // namespace gh
