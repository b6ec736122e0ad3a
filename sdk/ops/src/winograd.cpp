#include "winograd.hpp"

#include "gh/ops/parallel.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace gh {
inline namespace v1 {
namespace {

// Five lines, as distances of a power of two would put all frequencies of a tile into one set of a
// cache.
constexpr int64_t kApart = 80;
constexpr int64_t kBlock = kPanel * kPanel;

int64_t cut(int64_t whole, int64_t part) { return (whole + part - 1) / part; }
int64_t panels_of(int64_t channels) { return cut(channels, kPanel); }
// As many whole strips as hold about so many tiles.
int64_t strips_for(int64_t tiles, int64_t tiles_of_strip, int64_t strips) {
  return std::clamp<int64_t>(tiles / tiles_of_strip, 1, strips);
}

at::Tensor room(int64_t floats) { return at::empty({floats}, at::kFloat); }
float* start(const at::Tensor& t) { return t.data_ptr<float>(); }

// A room for each worker.
class Rooms {
 public:
  Rooms(int64_t workers, int64_t floats) : each_(floats + kApart), rooms_(room(workers * each_)) {}
  float* of(int64_t worker) const { return start(rooms_) + worker * each_; }

 private:
  int64_t each_;
  at::Tensor rooms_;
};

// Images as strips of tiles.
struct Images {
  int64_t images, channels, height, width;
  int64_t rows, tiles;  // rows of tiles in an image, tiles in a row
  int64_t tile;         // pixels of a tile along a row
  int64_t padding;
  bool channels_last;

  int64_t strips() const { return images * rows; }
  int64_t panels() const { return panels_of(channels); }

  // One panel of a strip.
  Strip strip(const float* data, int64_t strip, int64_t panel) const {
    const int64_t image = strip / rows, size = height * width, first = panel * kPanel;
    const int64_t pixel = channels_last ? channels : 1, channel = channels_last ? 1 : size;
    return {.data = const_cast<float*>(data) + image * channels * size + first * channel,
            .height = height,
            .width = width,
            .channels = std::min(kPanel, channels - first),
            .pixel = pixel,
            .channel = channel,
            .first_row = strip % rows * tile - padding,
            .padding = padding,
            .tiles = tiles,
            .planes = !channels_last};
  }
};

// Strips in a row, transformed: [frequency][phase][panel][tile][16].
struct Block {
  int64_t phases, panels, tiles, frequencies;

  int64_t frequency() const { return phases * panels * tiles * kPanel + kApart; }
  int64_t floats() const { return frequencies * frequency(); }
  Frequencies at(float* data, int64_t panel, int64_t tile) const {
    return {.data = data + (panel * tiles + tile) * kPanel,
            .frequency = frequency(),
            .phase = panels * tiles * kPanel};
  }
  // `panel` counts through the phases.
  template <class Float>
  Float* slab(Float* data, int64_t index, int64_t panel) const {
    return data + index * frequency() + panel * tiles * kPanel;
  }
};

// From images to images of as many strips.
struct Pass {
  const WinogradKernels& kernels;
  Images from, to;
  bool turned;      // backwards
  int64_t threads;  // results do not depend on it

  Pass(const WinogradKernels& k, const WinogradShape& s, Way way)
      : kernels(k), turned(way == Way::backward), threads(at::get_num_threads()) {
    const Images data{s.images,          s.in,      s.height,       s.width, 0, 0,
                      k.tile * k.stride, s.padding, s.channels_last};
    const Images output{s.images,
                        s.out,
                        s.out_height(),
                        s.out_width(),
                        0,
                        0,
                        k.tile,
                        k.stride == 1 ? 2 - s.padding : 0,
                        s.channels_last};
    from = turned ? output : data;
    to = turned ? data : output;
    to.padding = 0;
    from.rows = to.rows = cut(to.height, to.tile);
    from.tiles = to.tiles = cut(to.width, to.tile);
  }

  int64_t frequencies() const { return kernels.points * kernels.points; }
  int64_t strips() const { return to.strips(); }

  // Transformed weights: [panel][frequency][phase][input][16].
  int64_t weight_phase() const { return from.panels() * kBlock; }
  int64_t weight_frequency() const { return kernels.phases * weight_phase() + kApart; }
  int64_t weight_panel() const { return frequencies() * weight_frequency(); }

  void transform(const float* weights, int64_t panel, float* transformed) const {
    kernels.weight_panel({.weights = weights,
                          .out = turned ? from.channels : to.channels,
                          .in = turned ? to.channels : from.channels,
                          .turned = turned,
                          .panel = panel,
                          .transformed = transformed,
                          .frequency = weight_frequency(),
                          .phase = weight_phase()});
  }

  // Products of some panels of outputs and one frequency. Phases of the data are summed, forwards;
  // backwards each is an output of its own.
  void multiply(const Block& in, const float* data, int64_t frequency, const float* transformed,
                const Block& out, float* products, int64_t outputs, int64_t tiles) const {
    const int64_t phases = kernels.phases_at(frequency);
    for (int64_t phase = 0; phase < (turned ? phases : 1); ++phase)
      kernels.product(
          {.data = in.slab(data, frequency, 0),
           .panel = in.tiles * kPanel,
           .weights = transformed + frequency * weight_frequency() + phase * weight_phase(),
           .weight_panel = weight_panel(),
           .products = out.slab(products, frequency, phase * out.panels),
           .product_panel = out.tiles * kPanel,
           .tiles = tiles,
           .panels = (turned ? 1 : phases) * in.panels,
           .outputs = outputs});
  }

  // A piece of work is a block of strips and a group of panels of the output. A thread transforms
  // data and weights of its pieces itself and keeps them as long as the next piece needs the same;
  // shared between cores, the transformed would cost more than to make them twice.
  struct Pieces {
    int64_t strips, panels;  // of a piece
    bool weights_stay;       // the next piece has the same panels, otherwise the same strips
  };
  void run(const float* x, const float* weights, float* y, const Pieces& pieces) const {
    const int64_t tiles = pieces.strips * to.tiles, phases = kernels.phases;
    const Block in{turned ? 1 : phases, from.panels(), tiles, frequencies()};
    const Block out{turned ? phases : 1, pieces.panels, tiles, frequencies()};
    const auto transform_in = turned ? kernels.gradient_in : kernels.data_in;
    const auto transform_out = turned ? kernels.data_gradient : kernels.output;
    const int64_t weight_floats = pieces.panels * weight_panel();
    const Rooms rooms(threads, in.floats() + out.floats() + weight_floats + kernels.room(to.tiles));
    struct Ready {
      int64_t strip = -1, panel = -1;
    };
    std::vector<Ready> ready(threads);
    const int64_t blocks = cut(strips(), pieces.strips), groups = cut(to.panels(), pieces.panels);
    ops::parallel_pieces(blocks * groups, threads, [&](int64_t piece, int64_t worker) {
      const int64_t block = pieces.weights_stay ? piece % blocks : piece / groups;
      const int64_t group = pieces.weights_stay ? piece / blocks : piece % groups;
      const int64_t first = block * pieces.strips, last = std::min(strips(), first + pieces.strips);
      const int64_t begin = group * pieces.panels;
      const int64_t count = std::min(to.panels() - begin, pieces.panels);
      float* const data = rooms.of(worker);
      float* const products = data + in.floats();
      float* const transformed = products + out.floats();
      float* const rest = transformed + weight_floats;
      if (ready[worker].strip != first)
        for (int64_t s = first; s < last; ++s)
          for (int64_t p = 0; p < in.panels; ++p)
            transform_in(from.strip(x, s, p), in.at(data, p, (s - first) * to.tiles), rest);
      if (ready[worker].panel != begin)
        for (int64_t p = 0; p < count; ++p)
          transform(weights, begin + p, transformed + p * weight_panel());
      ready[worker] = {first, begin};
      for (int64_t f = 0; f < frequencies(); ++f)
        multiply(in, data, f, transformed, out, products, count, (last - first) * to.tiles);
      for (int64_t s = first; s < last; ++s)
        for (int64_t p = 0; p < count; ++p)
          transform_out(out.at(products, p, (s - first) * to.tiles), to.strip(y, s, begin + p),
                        rest);
    });
  }
};

// The gradient of the weights: a sum over tiles. How tiles are put together is determined by the
// shape alone.
struct WeightGradient {
  const WinogradKernels& kernels;
  Images data, gradients;
  int64_t threads;

  explicit WeightGradient(const Pass& forward)
      : kernels(forward.kernels),
        data(forward.from),
        gradients(forward.to),
        threads(forward.threads) {}

  int64_t frequencies() const { return kernels.points * kernels.points; }
  int64_t strips() const { return gradients.strips(); }
  int64_t tiles() const { return gradients.tiles; }
  int64_t blocks() const { return gradients.panels() * data.panels(); }
  int64_t sum_floats() const { return frequencies() * kernels.phases * kBlock; }

  void finish(const float* sums, int64_t frequency, int64_t phase, int64_t out_panel,
              int64_t in_panel, float* dw) const {
    const int64_t out = out_panel * kPanel, in = in_panel * kPanel;
    kernels.gradient_block({.sums = sums,
                            .frequency = frequency,
                            .phase = phase,
                            .gradient = dw + out * 9 * data.channels + in,
                            .outputs = std::min(kPanel, gradients.channels - out),
                            .inputs = std::min(kPanel, data.channels - in),
                            .in = data.channels});
  }

  // Each thread takes pairs of panels, at most 8 by 8, for a share of the strips, which it goes
  // through block by block. What it needs of both sides it transforms itself: shared between cores,
  // the transformed would cost more. Shares have sums of their own, added up in order; they are for
  // few channels, where dividing pairs among threads would transform everything again and again.
  struct Plan {
    int64_t shares, share;   // how many, strips of each
    int64_t strips;          // of a block
    int64_t rows, columns;   // panels of a group
    int64_t across, groups;  // groups beside each other, all
    Block data, gradients;   // of a block
    // Sums of a group: [frequency][row][phase][column]
    int64_t sum_phase, sum_row, sum_frequency, group_sums;
  };
  Plan plan(int64_t shares, int64_t strips_each) const {
    Plan p{};
    p.strips = strips_each;
    p.share = cut(cut(strips(), strips_each), shares) * strips_each;
    p.shares = cut(strips(), p.share);
    p.rows = std::min<int64_t>(gradients.panels(), 8);
    p.columns = std::min<int64_t>(data.panels(), 8);
    const auto groups = [&] {
      return cut(gradients.panels(), p.rows) * cut(data.panels(), p.columns);
    };
    while (p.shares * groups() < threads && p.rows * p.columns > 1) {
      int64_t& side = p.rows >= p.columns ? p.rows : p.columns;
      side = cut(side, 2);
    }
    p.across = cut(data.panels(), p.columns);
    p.groups = groups();
    p.data = {kernels.phases, p.columns, strips_each * tiles(), frequencies()};
    p.gradients = {1, p.rows, strips_each * tiles(), frequencies()};
    p.sum_phase = p.columns * kBlock;
    p.sum_row = kernels.phases * p.sum_phase;
    p.sum_frequency = p.rows * p.sum_row;
    p.group_sums = frequencies() * p.sum_frequency;
    return p;
  }

  void run(const float* x, const float* dy, float* dw, int64_t shares, int64_t strips_each) const {
    const Plan p = plan(shares, strips_each);
    const bool keep = p.shares > 1;
    const at::Tensor kept = room(keep ? p.shares * p.groups * p.group_sums : 0);
    const Rooms rooms(threads, p.data.floats() + p.gradients.floats() + kernels.room(tiles()) +
                                   (keep ? 0 : p.group_sums));
    ops::parallel_pieces(p.shares * p.groups, threads, [&](int64_t piece, int64_t worker) {
      float* const own = rooms.of(worker);
      float* const sums =
          keep ? start(kept) + piece * p.group_sums
               : own + p.data.floats() + p.gradients.floats() + kernels.room(tiles());
      const int64_t group = piece % p.groups;
      const int64_t row = group / p.across * p.rows, column = group % p.across * p.columns;
      const int64_t height = std::min(p.rows, gradients.panels() - row);
      const int64_t width = std::min(p.columns, data.panels() - column);
      const int64_t begin = piece / p.groups * p.share, end = std::min(strips(), begin + p.share);
      for (int64_t first = begin; first < end; first += p.strips)
        add_strips(p, x, dy, {first, std::min(end - first, p.strips)}, {row, height},
                   {column, width}, first > begin, own, sums);
      if (keep) return;
      for (int64_t k = 0; k < height; ++k)
        for (int64_t c = 0; c < width; ++c)
          finish(sums + k * p.sum_row + c * kBlock, p.sum_frequency, p.sum_phase, row + k,
                 column + c, dw);
    });
    if (keep) add_shares(p, start(kept), dw);
  }

  struct Range {
    int64_t first, count;
  };
  // What a block of strips adds to the sums of a group; `add`: to what is there.
  void add_strips(const Plan& p, const float* x, const float* dy, Range block, Range rows,
                  Range columns, bool add, float* own, float* sums) const {
    float* const vs = own;
    float* const zs = vs + p.data.floats();
    float* const rest = zs + p.gradients.floats();
    const int64_t first = block.first, end = first + block.count;
    for (int64_t s = first; s < end; ++s) {
      const int64_t tile = (s - first) * tiles();
      for (int64_t i = 0; i < columns.count; ++i)
        kernels.data_in(data.strip(x, s, columns.first + i), p.data.at(vs, i, tile), rest);
      for (int64_t i = 0; i < rows.count; ++i)
        kernels.gradient_tiles(gradients.strip(dy, s, rows.first + i), p.gradients.at(zs, i, tile),
                               rest);
    }
    for (int64_t f = 0; f < frequencies(); ++f)
      for (int64_t k = 0; k < rows.count; ++k)
        for (int64_t phase = 0; phase < kernels.phases_at(f); ++phase)
          kernels.outer_product(
              {.gradients = p.gradients.slab(zs, f, k),
               .data = p.data.slab(vs, f, phase * p.columns),
               .panel = p.data.tiles * kPanel,
               .sums = sums + f * p.sum_frequency + k * p.sum_row + phase * p.sum_phase,
               .tiles = (end - first) * tiles(),
               .panels = columns.count,
               .add = add});
  }

  void add_shares(const Plan& p, const float* kept, float* dw) const {
    ops::parallel_indices(blocks(), [&](int64_t block) {
      const int64_t k = block / data.panels(), c = block % data.panels();
      const int64_t group = k / p.rows * p.across + c / p.columns;
      const int64_t place = k % p.rows * p.sum_row + c % p.columns * kBlock;
      std::vector<float> whole(sum_floats());
      for (int64_t i = 0; i < p.shares; ++i) {
        const float* const sums = kept + (i * p.groups + group) * p.group_sums + place;
        for (int64_t f = 0; f < frequencies(); ++f)
          for (int64_t phase = 0; phase < kernels.phases_at(f); ++phase) {
            const float* const part = sums + f * p.sum_frequency + phase * p.sum_phase;
            float* const sum = whole.data() + (f * kernels.phases + phase) * kBlock;
            for (int64_t j = 0; j < kBlock; ++j) sum[j] += part[j];
          }
      }
      finish(whole.data(), kernels.phases * kBlock, kBlock, k, c, dw);
    });
  }
};

constexpr int64_t kMiB = 1 << 20;

}  // namespace

void Winograd::convolve(const float* from, const float* weights, float* to, Way way) const {
  const Pass pass(kernels_, shape_, way);
  const int64_t strips = pass.strips(), panels = pass.to.panels();
  // Even pieces, as many for every thread, of at most so many tiles.
  const auto even = [&](int64_t tiles) {
    const int64_t blocks = cut(strips, strips_for(tiles, pass.to.tiles, strips));
    return cut(strips, cut(blocks, pass.threads) * pass.threads);
  };
  // Large weights do not stay in a core's cache, but the data of some tiles do.
  if (pass.weight_panel() * panels * 4 > 3 * kMiB)
    return pass.run(
        from, weights, to,
        {.strips = strips_for(64, pass.to.tiles, strips), .panels = 2, .weights_stay = false});
  // With g groups of panels the data are transformed g times, and the weights threads/g times. With
  // 140 cycles for a tile of data and 110 for an input channel's weights, the sum is least here.
  const double tiles = static_cast<double>(strips * pass.to.tiles);
  const double least = std::sqrt(12.7 * static_cast<double>(pass.threads * panels) / tiles);
  const int64_t groups = std::clamp<int64_t>(std::lround(least), 1, panels);
  pass.run(from, weights, to,
           {.strips = even(32), .panels = cut(panels, groups), .weights_stay = true});
}

void Winograd::weight_gradient(const float* data, const float* gradient, float* weights) const {
  const WeightGradient pass(Pass(kernels_, shape_, Way::forward));
  const int64_t tiles = pass.strips() * pass.tiles();
  // Shares of strips have sums of their own, which must not be many. One or an even number, for the
  // sake of an even number of cores.
  const int64_t bytes = pass.blocks() * pass.sum_floats() * 4;
  int64_t shares = 1;
  if (bytes <= kMiB)
    shares = tiles < 768 ? 1 : tiles < 1536 ? 2 : 4;
  else if (bytes <= 3 * kMiB && tiles >= 512)
    shares = 2;
  pass.run(data, gradient, weights, shares, strips_for(48, pass.tiles(), pass.strips()));
}

}  // namespace v1
}  // namespace gh
