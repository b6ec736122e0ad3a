#include "data/data_check.hpp"

#include "data/picture_reader.hpp"

#include "gh/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>

namespace gh::host {
namespace {

// What threads find together.
struct Shared {
  std::atomic<int64_t> next{0}, done{0};
  std::mutex mutex;
  std::map<int64_t, std::string> unreadable;
  int smallest = 0, largest = 0;
  double pixels = 0;
  std::exception_ptr failure;
};

void read_some(const SampleSet& set, Shared& shared) {
  PictureReader reader;
  for (int64_t i; (i = shared.next++) < set.size(); ++shared.done) {
    try {
      const InterleavedImage& picture = reader.read(set, i);
      const std::lock_guard lock(shared.mutex);
      const auto [low, high] = std::minmax(picture.height, picture.width);
      shared.smallest = shared.smallest == 0 ? low : std::min(shared.smallest, low);
      shared.largest = std::max(shared.largest, high);
      shared.pixels += static_cast<double>(picture.height) * picture.width;
    } catch (const Error& error) {
      const std::lock_guard lock(shared.mutex);
      shared.unreadable[i] = error.what();
    } catch (...) {
      const std::lock_guard lock(shared.mutex);
      shared.failure = std::current_exception();
      shared.next = set.size();
    }
  }
}

}  // namespace

DataFindings read_everything(const SampleSet& set, int threads,
                             const std::function<void(int64_t)>& progress) {
  DataFindings out;
  if (!set.pictures()) {  // vectors were read when the set was opened
    for (const auto& [index, reason] : set.unreadable())
      out.unreadable.push_back(fmt::format("{}: {}", set.label(index), reason));
    return out;
  }
  Shared shared;
  std::vector<std::thread> pool;
  for (int i = 0; i < std::max(1, threads); ++i) pool.emplace_back([&] { read_some(set, shared); });
  while (shared.done < set.size() && shared.next < set.size()) {
    progress(shared.done);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  for (std::thread& thread : pool) thread.join();
  if (shared.failure) std::rethrow_exception(shared.failure);
  for (auto& [index, reason] : shared.unreadable) out.unreadable.push_back(std::move(reason));
  const auto readable = set.size() - static_cast<int64_t>(out.unreadable.size());
  out.smallest_side = shared.smallest;
  out.largest_side = shared.largest;
  if (readable > 0) out.mean_pixels = shared.pixels / static_cast<double>(readable);
  return out;
}

std::string class_histogram(const at::Tensor& counts, const std::vector<std::string>& names) {
  constexpr int kBarWidth = 44, kRows = 20, kMostSingle = 24;
  const int64_t classes = counts.size(0);
  const int64_t* count = counts.data_ptr<int64_t>();
  std::vector<int64_t> order(classes);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return count[a] > count[b]; });
  const double largest = static_cast<double>(std::max<int64_t>(1, count[order[0]]));
  const int64_t lines = classes <= kMostSingle ? classes : kRows;
  std::string out;
  for (int64_t line = 0; line < lines; ++line) {
    const int64_t begin = line * classes / lines, end = (line + 1) * classes / lines;
    double mean = 0;
    for (int64_t i = begin; i < end; ++i) mean += static_cast<double>(count[order[i]]);
    mean /= static_cast<double>(end - begin);
    std::string label = begin + 1 == end ? fmt::format("class {}", order[begin])
                                         : fmt::format("ranks {}–{}", begin + 1, end);
    if (begin + 1 == end && order[begin] < static_cast<int64_t>(names.size()))
      label = names[order[begin]];
    if (label.size() > 24) {  // not in the middle of a character
      std::size_t cut = 24;
      while (cut > 0 && (label[cut] & 0xc0) == 0x80) --cut;
      label.resize(cut);
    }
    std::string bar;
    for (int i = 0; i < static_cast<int>(std::lround(kBarWidth * mean / largest)); ++i) bar += "█";
    out += fmt::format("  {:<24} {:>8.{}f} {}\n", label, mean, begin + 1 == end ? 0 : 1,
                       bar.empty() ? "▏" : bar);
  }
  return out;
}

}  // namespace gh::host
