// The loops of norm_kernels.hpp, written once for vectors of either size.
#pragma once

#include "norm_kernels.hpp"
#include "vectors.hpp"

namespace gh {
inline namespace v1 {
namespace {

// Wider ones would change the order of sums, and memory is what these wait for.
template <class T>
using NormLanes = Lanes < T,
      kVectorBytes<32 ? kVectorBytes : 32>;

// A constant of each channel at position i: along a row the channel changes, along a plane it does
// not.
template <class T, bool Plane>
struct Constant {
  const T* values;
  T scalar(int64_t i) const { return values[Plane ? 0 : i]; }
  typename NormLanes<T>::Vector vector(int64_t i) const {
    if constexpr (Plane) return typename NormLanes<T>::Vector{} + values[0];
    return NormLanes<T>::load(values + i);
  }
};

// ---- elementwise ----

template <class T, bool Plane, bool Residual, bool Relu>
void forward_run(NormForward<T> f, int64_t n) {
  using V = NormLanes<T>;
  const Constant<T, Plane> mean{f.mean}, scale{f.scale}, bias{f.bias};
  int64_t i = 0;
  for (; i + V::kCount <= n; i += V::kCount) {
    typename V::Vector y = (V::load(f.x + i) - mean.vector(i)) * scale.vector(i) + bias.vector(i);
    if constexpr (Residual) y += V::load(f.residual + i);
    // Not "y > 0 ? y : 0": a NaN stays one.
    if constexpr (Relu) y = y < 0 ? typename V::Vector{} : y;
    V::store(f.y + i, y);
  }
  for (; i < n; ++i) {
    T y = (f.x[i] - mean.scalar(i)) * scale.scalar(i) + bias.scalar(i);
    if constexpr (Residual) y += f.residual[i];
    if constexpr (Relu) y = y < 0 ? T(0) : y;
    f.y[i] = y;
  }
}

template <class T, bool Plane>
void forward_any(const NormForward<T>& f, int64_t n) {
  if (f.residual)
    return f.relu ? forward_run<T, Plane, true, true>(f, n)
                  : forward_run<T, Plane, true, false>(f, n);
  return f.relu ? forward_run<T, Plane, false, true>(f, n)
                : forward_run<T, Plane, false, false>(f, n);
}

// Constants of short rows, repeated: several rows are then as one long one, and what is done once a
// row is done less often.
constexpr int64_t kLongRow = 256;
template <class T>
struct Repeated {
  T values[kLongRow];
  Repeated(const T* from, int64_t channels, int64_t times) {
    for (int64_t i = 0; i < times; ++i)
      for (int64_t c = 0; c < channels; ++c) values[i * channels + c] = from[c];
  }
};
// How many rows make one.
inline int64_t rows_at_once(int64_t rows, int64_t channels) {
  const int64_t fit = kLongRow / channels;
  return fit < 2 || rows < 2 ? 1 : fit < rows ? fit : rows;
}

template <class T>
void forward_rows(const NormForward<T>& f, int64_t rows, int64_t channels) {
  NormForward<T> row = f;
  const auto run = [&](int64_t count) {
    for (; rows >= count; rows -= count) {
      const int64_t size = count * channels;
      forward_any<T, false>(row, size);
      row.x += size;
      row.y += size;
      if (row.residual) row.residual += size;
    }
  };
  const int64_t count = rows_at_once(rows, channels);
  if (count == 1) return run(1);
  const Repeated<T> mean(f.mean, channels, count), scale(f.scale, channels, count),
      bias(f.bias, channels, count);
  row.mean = mean.values;
  row.scale = scale.values;
  row.bias = bias.values;
  run(count);
  run(1);
}

template <class T>
void forward_plane(const NormForward<T>& f, int64_t n) {
  forward_any<T, true>(f, n);
}

enum class Mask { none, input, output };

// g and x − mean at one position.
template <class T, bool Plane, Mask Kind>
struct Gradient {
  using V = NormLanes<T>;
  explicit Gradient(const NormGradient<T>& in)
      : g(in), mean{in.mean}, scale{in.scale}, bias{in.bias} {}

  void vector(int64_t i, int64_t channel, typename V::Vector& value,
              typename V::Vector& deviation) const {
    deviation = V::load(g.x + i) - mean.vector(channel);
    value = V::load(g.dy + i);
    if constexpr (Kind == Mask::input) {
      const typename V::Vector before = deviation * scale.vector(channel) + bias.vector(channel);
      value = before > 0 ? value : typename V::Vector{};
    }
    if constexpr (Kind == Mask::output) value = V::load(g.y + i) > 0 ? value : typename V::Vector{};
  }
  void scalar(int64_t i, int64_t channel, T& value, T& deviation) const {
    deviation = g.x[i] - mean.scalar(channel);
    value = g.dy[i];
    if constexpr (Kind == Mask::input)
      value = deviation * scale.scalar(channel) + bias.scalar(channel) > 0 ? value : T(0);
    if constexpr (Kind == Mask::output) value = g.y[i] > 0 ? value : T(0);
  }

  NormGradient<T> g;  // a copy: what is stored elsewhere cannot change it
  Constant<T, Plane> mean, scale, bias;
};

template <class T, bool Plane, Mask Kind>
void backward_run(const NormGradient<T>& in, int64_t offset, int64_t n, const T* a, const T* b,
                  const T* c, T* dx) {
  using V = NormLanes<T>;
  const Gradient<T, Plane, Kind> g(in);
  const Constant<T, Plane> va{a}, vb{b}, vc{c};
  int64_t i = 0;
  for (; i + V::kCount <= n; i += V::kCount) {
    typename V::Vector value, deviation;
    g.vector(offset + i, i, value, deviation);
    V::store(dx + offset + i, va.vector(i) * value + (vb.vector(i) * deviation + vc.vector(i)));
  }
  for (; i < n; ++i) {
    T value, deviation;
    g.scalar(offset + i, i, value, deviation);
    dx[offset + i] = va.scalar(i) * value + (vb.scalar(i) * deviation + vc.scalar(i));
  }
}

template <class T, Mask Kind>
void backward_all_rows(const NormGradient<T>& in, int64_t rows, int64_t channels, const T* a,
                       const T* b, const T* c, T* dx) {
  NormGradient<T> g = in;
  int64_t done = 0;
  const auto run = [&](int64_t count, const T* va, const T* vb, const T* vc) {
    for (; rows - done >= count; done += count)
      backward_run<T, false, Kind>(g, done * channels, count * channels, va, vb, vc, dx);
  };
  const int64_t count = rows_at_once(rows, channels);
  if (count > 1) {
    const Repeated<T> mean(in.mean, channels, count), scale(in.scale, channels, count),
        bias(in.bias, channels, count), va(a, channels, count), vb(b, channels, count),
        vc(c, channels, count);
    g.mean = mean.values;
    g.scale = scale.values;
    g.bias = bias.values;
    run(count, va.values, vb.values, vc.values);
    g = in;
  }
  run(1, a, b, c);
}

template <class T>
void backward_rows(const NormGradient<T>& g, int64_t rows, int64_t channels, const T* a, const T* b,
                   const T* c, T* dx) {
  if (g.by_input)
    backward_all_rows<T, Mask::input>(g, rows, channels, a, b, c, dx);
  else if (g.y)
    backward_all_rows<T, Mask::output>(g, rows, channels, a, b, c, dx);
  else
    backward_all_rows<T, Mask::none>(g, rows, channels, a, b, c, dx);
}

template <class T>
void backward_plane(const NormGradient<T>& g, int64_t n, T a, T b, T c, T* dx) {
  if (g.by_input)
    backward_run<T, true, Mask::input>(g, 0, n, &a, &b, &c, dx);
  else if (g.y)
    backward_run<T, true, Mask::output>(g, 0, n, &a, &b, &c, dx);
  else
    backward_run<T, true, Mask::none>(g, 0, n, &a, &b, &c, dx);
}

// ---- sums along columns: strictly in the order of memory, which matters more than keeping sums in
// registers; a few rows in the tensor's precision, then into double ----

constexpr int64_t kRowBlock = 16;
constexpr int64_t kColumns = 512;  // at a time

// Sums of a block of rows.
template <class T>
struct ColumnSums {
  T first[kColumns], second[kColumns];

  void clear(int64_t n) {
    for (int64_t i = 0; i < n; ++i) first[i] = second[i] = 0;
  }
  void add(int64_t i, const typename NormLanes<T>::Vector& a,
           const typename NormLanes<T>::Vector& b) {
    using V = NormLanes<T>;
    V::store(first + i, V::load(first + i) + a);
    V::store(second + i, V::load(second + i) + b);
  }
  void add_to(int64_t n, double* sum, double* other) const {
    for (int64_t i = 0; i < n; ++i) sum[i] += static_cast<double>(first[i]);
    for (int64_t i = 0; i < n; ++i) other[i] += static_cast<double>(second[i]);
  }
};

// From sums around some middle to the moments.
template <class T>
void correct(T middle, double sum, double square, int64_t n, double* mean, double* squares) {
  const double offset = sum / static_cast<double>(n);
  *mean = static_cast<double>(middle) + offset;
  *squares = square - offset * sum;
}

// Adds Σ(x − middle) and Σ(x − middle)² of up to kColumns columns to `sum` and `square`.
template <class T>
void add_deviations(const T* x, int64_t rows, int64_t channels, int64_t columns, const T* middle,
                    double* sum, double* square) {
  using V = NormLanes<T>;
  ColumnSums<T> sums;
  sums.clear(columns);
  for (int64_t r = 0; r < rows; ++r, x += channels) {
    int64_t c = 0;
    for (; c + V::kCount <= columns; c += V::kCount) {
      const typename V::Vector d = V::load(x + c) - V::load(middle + c);
      sums.add(c, d, d * d);
    }
    for (; c < columns; ++c) {
      const T d = x[c] - middle[c];
      sums.first[c] += d;
      sums.second[c] += d * d;
    }
  }
  sums.add_to(columns, sum, square);
}

// One pass, around the mean of the first rows: however far that lies from the mean of all, at most
// √(rows / kRowBlock) standard deviations, so that little cancels. `middle` is room for C values.
template <class T>
void moments_rows(const T* x, int64_t rows, int64_t channels, T* middle, double* mean,
                  double* squares) {
  const int64_t first = rows < kRowBlock ? rows : kRowBlock;
  for (int64_t c = 0; c < channels; ++c) middle[c] = 0;
  for (int64_t r = 0; r < first; ++r)
    for (int64_t c = 0; c < channels; ++c) middle[c] += x[r * channels + c];
  for (int64_t c = 0; c < channels; ++c) {
    middle[c] /= static_cast<T>(first);
    mean[c] = squares[c] = 0;
  }
  for (int64_t r = 0; r < rows; r += kRowBlock)
    for (int64_t c = 0; c < channels; c += kColumns)
      add_deviations(x + r * channels + c, rows - r < kRowBlock ? rows - r : kRowBlock, channels,
                     channels - c < kColumns ? channels - c : kColumns, middle + c, mean + c,
                     squares + c);
  for (int64_t c = 0; c < channels; ++c)
    correct(middle[c], mean[c], squares[c], rows, mean + c, squares + c);
}

// The same for Σg and Σg·(x − mean), in the columns from `begin` on.
template <class T, Mask Kind, bool Write>
void add_gradients(const NormGradient<T>& in, int64_t rows, int64_t channels, int64_t begin,
                   int64_t columns, T* out, double* sum, double* product) {
  using V = NormLanes<T>;
  const Gradient<T, false, Kind> g(in);
  ColumnSums<T> sums;
  sums.clear(columns);
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t at = r * channels + begin;
    int64_t c = 0;
    for (; c + V::kCount <= columns; c += V::kCount) {
      typename V::Vector value, deviation;
      g.vector(at + c, begin + c, value, deviation);
      sums.add(c, value, value * deviation);
      if constexpr (Write) V::store(out + at + c, value);
    }
    for (; c < columns; ++c) {
      T value, deviation;
      g.scalar(at + c, begin + c, value, deviation);
      sums.first[c] += value;
      sums.second[c] += value * deviation;
      if constexpr (Write) out[at + c] = value;
    }
  }
  sums.add_to(columns, sum + begin, product + begin);
}

template <class T, Mask Kind, bool Write>
void reduce_all_rows(const NormGradient<T>& in, int64_t rows, int64_t channels, T* out, double* sum,
                     double* product) {
  for (int64_t c = 0; c < channels; ++c) sum[c] = product[c] = 0;
  for (int64_t r = 0; r < rows; r += kRowBlock) {
    NormGradient<T> g = in;
    g.dy += r * channels;
    g.x += r * channels;
    if constexpr (Kind == Mask::output) g.y += r * channels;
    for (int64_t c = 0; c < channels; c += kColumns)
      add_gradients<T, Kind, Write>(g, rows - r < kRowBlock ? rows - r : kRowBlock, channels, c,
                                    channels - c < kColumns ? channels - c : kColumns,
                                    Write ? out + r * channels : nullptr, sum, product);
  }
}

// Only a mask by the output is worth writing: that of the input is made anew.
template <class T>
void reduce_rows(const NormGradient<T>& g, int64_t rows, int64_t channels, T* out, double* sum,
                 double* product) {
  if (g.by_input)
    reduce_all_rows<T, Mask::input, false>(g, rows, channels, nullptr, sum, product);
  else if (g.y)
    reduce_all_rows<T, Mask::output, true>(g, rows, channels, out, sum, product);
  else
    reduce_all_rows<T, Mask::none, false>(g, rows, channels, nullptr, sum, product);
}

// ---- sums along planes: four vectors of lanes, folded into double every kFold values,
// what is left over in one of them ----

constexpr int64_t kFold = 4096;

template <class T>
double folded(const typename NormLanes<T>::Vector (&lanes)[4]) {
  const typename NormLanes<T>::Vector four = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
  double total = 0;
  for (int64_t l = 0; l < NormLanes<T>::kCount; ++l) total += static_cast<double>(four[l]);
  return total;
}

// Sums of two values over a plane. at_vector(i, a, b) gives them for the elements of a vector that
// begins at i, at_one(i, a, b) for the element i.
template <class T, class AtVector, class AtOne>
GH_INLINE void fold(int64_t n, const AtVector& at_vector, const AtOne& at_one, double* first,
                    double* second) {
  using V = NormLanes<T>;
  *first = *second = 0;
  for (int64_t begin = 0; begin < n; begin += kFold) {
    const int64_t end = n - begin < kFold ? n : begin + kFold;
    typename V::Vector s[4] = {}, q[4] = {}, a, b;
    T rest_s = 0, rest_q = 0, one, other;
    int64_t i = begin;
    for (; i + 4 * V::kCount <= end; i += 4 * V::kCount)
      for (int v = 0; v < 4; ++v) {
        at_vector(i + v * V::kCount, a, b);
        s[v] += a;
        q[v] += b;
      }
    for (; i + V::kCount <= end; i += V::kCount) {
      at_vector(i, a, b);
      s[0] += a;
      q[0] += b;
    }
    for (; i < end; ++i) {
      at_one(i, one, other);
      rest_s += one;
      rest_q += other;
    }
    *first += folded<T>(s) + static_cast<double>(rest_s);
    *second += folded<T>(q) + static_cast<double>(rest_q);
  }
}

// Σ(x − middle) and Σ(x − middle)².
template <class T>
void plane_sums(const T* x, int64_t n, T middle, double* sum, double* square) {
  using V = NormLanes<T>;
  const typename V::Vector shift = typename V::Vector{} + middle;
  fold<T>(
      n,
      [&](int64_t i, typename V::Vector& d, typename V::Vector& squared) {
        d = V::load(x + i) - shift;
        squared = d * d;
      },
      [&](int64_t i, T& d, T& squared) {
        d = x[i] - middle;
        squared = d * d;
      },
      sum, square);
}

template <class T>
void moments_plane(const T* x, int64_t n, double* mean, double* squares) {
  double sum, square;
  plane_sums<T>(x, n, 0, &sum, &square);
  const T middle = static_cast<T>(sum / static_cast<double>(n));
  plane_sums<T>(x, n, middle, &sum, &square);
  correct(middle, sum, square, n, mean, squares);
}

template <class T, Mask Kind, bool Write>
void reduce_one_plane(const NormGradient<T>& in, int64_t n, T* out, double* sum, double* product) {
  using V = NormLanes<T>;
  const Gradient<T, true, Kind> g(in);
  fold<T>(
      n,
      [&](int64_t i, typename V::Vector& value, typename V::Vector& by_deviation) {
        typename V::Vector deviation;
        g.vector(i, 0, value, deviation);
        by_deviation = value * deviation;
        if constexpr (Write) V::store(out + i, value);
      },
      [&](int64_t i, T& value, T& by_deviation) {
        T deviation;
        g.scalar(i, 0, value, deviation);
        by_deviation = value * deviation;
        if constexpr (Write) out[i] = value;
      },
      sum, product);
}

template <class T>
void reduce_plane(const NormGradient<T>& g, int64_t n, T* out, double* sum, double* product) {
  if (g.by_input)
    reduce_one_plane<T, Mask::input, false>(g, n, nullptr, sum, product);
  else if (g.y)
    reduce_one_plane<T, Mask::output, true>(g, n, out, sum, product);
  else
    reduce_one_plane<T, Mask::none, false>(g, n, nullptr, sum, product);
}

template <class T>
constexpr NormKernels<T> kNormLoops = {
    moments_rows<T>, moments_plane<T>, forward_rows<T>,  forward_plane<T>,
    reduce_rows<T>,  reduce_plane<T>,  backward_rows<T>, backward_plane<T>,
};

}  // namespace
}  // namespace v1
}  // namespace gh
