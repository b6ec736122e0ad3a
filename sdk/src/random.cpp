#include "gh/random.hpp"

#include "gh/error.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <cmath>
#include <numbers>

namespace gh {
inline namespace v1 {
namespace {

uint64_t mix(uint64_t x) noexcept {  // finaliser of splitmix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, std::array<uint32_t, 2> k) noexcept {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53u} * c[0];
    const uint64_t b = uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(a)};
    k[0] += 0x9E3779B9u;
    k[1] += 0xBB67AE85u;
  }
  return c;
}

template <class Draw>
void fill(const at::Tensor& out, Draw draw) {
  at::NoGradGuard no_grad;
  at::Tensor values = at::empty(out.sizes(), at::kDouble);
  double* p = values.data_ptr<double>();
  for (int64_t i = 0; i < values.numel(); ++i) p[i] = draw();
  out.detach().copy_(values);
}

}  // namespace

uint64_t stream_key(uint64_t seed, std::string_view purpose) noexcept {
  uint64_t h = mix(seed);
  for (const char c : purpose) h = mix(h ^ static_cast<unsigned char>(c));
  return mix(h ^ purpose.size());
}

Random::Random(uint64_t key, uint64_t stream) noexcept
    : key_{static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)},
      counter_{0, 0, static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)},
      block_{} {}

Random Random::fork(std::string_view purpose) const noexcept {
  const uint64_t key = key_[0] | uint64_t{key_[1]} << 32;
  return Random(stream_key(key, purpose), counter_[2] | uint64_t{counter_[3]} << 32);
}

void Random::refill() noexcept {
  block_ = philox(counter_, key_);
  if (++counter_[0] == 0) ++counter_[1];
  used_ = 0;
}

uint32_t Random::bits32() noexcept {
  if (used_ == 4) refill();
  return block_[used_++];
}

uint64_t Random::bits64() noexcept {
  const uint64_t high = bits32();
  return high << 32 | bits32();
}

double Random::uniform() noexcept { return static_cast<double>(bits64() >> 11) * 0x1p-53; }
double Random::uniform(double low, double high) noexcept { return low + (high - low) * uniform(); }

double Random::normal() noexcept {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double radius = std::sqrt(-2 * std::log1p(-uniform()));
  const double angle = 2 * std::numbers::pi * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

int64_t Random::below(int64_t n) {
  require(n >= 1, ErrorCode::internal, "Random::below needs n >= 1, got ", n);
  const uint64_t range = static_cast<uint64_t>(n);
  const uint64_t limit = ~uint64_t{0} - ~uint64_t{0} % range;  // reject the uneven end
  uint64_t x = bits64();
  while (x >= limit) x = bits64();
  return static_cast<int64_t>(x % range);
}

at::Tensor Random::permutation(int64_t n) {
  at::Tensor order = at::empty({n}, at::kLong);
  int64_t* p = order.data_ptr<int64_t>();
  for (int64_t i = 0; i < n; ++i) p[i] = i;
  for (int64_t i = n - 1; i > 0; --i) std::swap(p[i], p[below(i + 1)]);
  return order;
}

void Random::fill_uniform(const at::Tensor& out, double low, double high) {
  fill(out, [&] { return uniform(low, high); });
}

void Random::fill_normal(const at::Tensor& out, double mean, double stddev) {
  fill(out, [&] { return mean + stddev * normal(); });
}

at::Generator Random::generator() const {
  Random seed = fork("at::Generator");
  return at::detail::createCPUGenerator(seed.bits64());
}

}  // namespace v1
}  // namespace gh
