#include "data/loader.hpp"

#include "data/unreadable.hpp"

#include "gh/error.hpp"
#include "gh/interrupt.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <pthread.h>

#include <algorithm>
#include <chrono>

namespace gh::host {
namespace {

int thread_count(const LoaderOptions& options, const SampleSet& set) {
  if (options.threads > 0) return options.threads;
  if (!set.pictures()) return 1;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

at::Tensor shuffled_order(uint64_t seed, int64_t epoch, int64_t samples, const at::Tensor& subset) {
  Random random(stream_key(seed, "data.order"), static_cast<uint64_t>(epoch));
  const at::Tensor shuffled = random.permutation(subset.defined() ? subset.size(0) : samples);
  return subset.defined() ? subset.index_select(0, shuffled) : shuffled;
}

at::Tensor normalized(const at::Tensor& bytes, const NormalizePlan& plan) {
  std::vector<float> scale, shift;
  for (int c = 0; c < 3; ++c) {
    scale.push_back(plan.scale(c));
    shift.push_back(plan.shift(c));
  }
  const auto row = [&](const std::vector<float>& values) {
    return at::tensor(values, at::kFloat).view({3, 1, 1}).to(bytes.device());
  };
  return bytes.to(at::kFloat).mul_(row(scale)).sub_(row(shift));
}

Loader::Loader(const SampleSet& set, const ViewPlan& plan, uint64_t seed, LoaderOptions options)
    : set_(set),
      plan_(plan),
      seed_(seed),
      options_(options),
      format_(options.device.is_cpu() || !set.pictures() ? ViewFormat::floats : ViewFormat::bytes),
      views_(options.views > 0 ? options.views : plan.count()),
      grain_(set.in_memory() ? 8 : 1),
      ring_(static_cast<std::size_t>(options.prefetch) + 1) {
  for (int64_t v = 0; v < views_; ++v)
    require((plan.group_of(v).size > 0) == set.pictures(), ErrorCode::invalid_param,
            set.pictures() ? "samples are pictures, but [views] has no size; name a preset"
                           : "samples are vectors, but [views] has operations on pictures");
  const int threads = thread_count(options_, set_);
  for (int i = 0; i < threads; ++i)
    ::pthread_setname_np(threads_.emplace_back([this] { work(); }).native_handle(), "gh-loader");
}

Loader::~Loader() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Loader::begin(EpochPlan plan) {
  require(plan.batch % plan.world == 0, ErrorCode::invalid_param, "a batch of ", plan.batch,
          " cannot be shared out evenly over ", plan.world, " ranks");
  auto pass = std::make_shared<Pass>();
  const int64_t n = plan.order.size(0);
  const int64_t* order = plan.order.data_ptr<int64_t>();
  for (int64_t begin = plan.first_batch * plan.batch; begin < n; begin += plan.batch) {
    const int64_t all = std::min(plan.batch, n - begin);
    if (all < plan.batch && plan.drop_last) break;
    const int64_t share = all / plan.world;
    if (share == 0) break;
    const int64_t* first = order + begin + plan.rank * share;
    pass->samples.insert(pass->samples.end(), first, first + share);
    pass->ends.push_back(pass->samples.size());
  }
  pass->plan = std::move(plan);
  {
    const std::lock_guard lock(mutex_);
    pass->first = queued_;
    queued_ += static_cast<int64_t>(pass->ends.size());
    passes_.push_back(std::move(pass));
  }
  work_.notify_all();
}

// Under the lock. The next few samples of the first batch that is not wholly claimed, if its slot
// is free.
std::optional<Loader::Claim> Loader::claim() {
  for (const std::shared_ptr<Pass>& pass : passes_) {
    if (pass->claimed == pass->samples.size()) continue;
    const std::size_t batch = pass->claimed_batches;
    const int64_t number = pass->first + static_cast<int64_t>(batch);
    if (number >= released_ + static_cast<int64_t>(ring_.size())) return std::nullopt;
    const std::size_t begin = batch == 0 ? 0 : pass->ends[batch - 1], end = pass->ends[batch];
    Slot& slot = ring_[static_cast<std::size_t>(number) % ring_.size()];
    if (pass->claimed == begin && !prepare(slot, static_cast<int64_t>(end - begin))) {
      pass->claimed = end;
      ++pass->claimed_batches;
      done_.notify_all();
      continue;
    }
    Claim out{pass, &slot, pass->claimed, std::min(end, pass->claimed + grain_),
              pass->claimed - begin};
    pass->claimed = out.end;
    if (out.end == end) ++pass->claimed_batches;
    return out;
  }
  return std::nullopt;
}

// Memory for a batch, kept from the batch before in this slot unless it is too small or somebody
// else holds on to it. False when there is none; the slot then has nothing but the error.
bool Loader::prepare(Slot& slot, int64_t rows) {
  slot.indices.assign(rows, 0);
  slot.missing = static_cast<std::size_t>(rows);
  slot.error = nullptr;
  slot.skipped.clear();
  try {
    allocate(slot, rows);
    return true;
  } catch (const std::exception&) {
    slot.views.clear();
    slot.missing = 0;
    slot.error = std::make_exception_ptr(Error(
        ErrorCode::out_of_memory, "there is no memory for a batch of " + std::to_string(rows) +
                                      " samples; lower train.batch or loader.prefetch"));
    return false;
  }
}

void Loader::allocate(Slot& slot, int64_t rows) {
  slot.views.resize(views_);
  for (int64_t v = 0; v < views_; ++v) {
    at::Tensor& view = slot.views[v];
    if (view.defined() && view.size(0) >= rows && view.storage().use_count() == 1) continue;
    std::vector<int64_t> shape = plan_.shape_of(v, set_.vector_shape());
    shape.insert(shape.begin(), rows);
    const bool bytes = format_ == ViewFormat::bytes;
    view = at::empty(
        shape,
        at::TensorOptions(bytes ? at::kByte : at::kFloat).pinned_memory(options_.device.is_cuda()));
  }
}

void Loader::work() {
  ViewMaker maker(set_, plan_, seed_, views_, format_);
  std::unique_lock lock(mutex_);
  while (true) {
    std::optional<Claim> next;
    work_.wait(lock, [&] { return stop_ || (next = claim()).has_value(); });
    if (stop_) return;
    ++busy_;
    lock.unlock();
    make(*next, maker);
    lock.lock();
    --busy_;
    next->slot->missing -= next->end - next->begin;
    if (next->slot->missing == 0 || (resetting_ && busy_ == 0)) done_.notify_all();
  }
}

// Fills the claimed rows. Of several errors in a batch the one of its first sample is kept, so that
// the message does not depend on who was faster.
void Loader::make(const Claim& claim, ViewMaker& maker) {
  std::vector<void*> out(views_);
  std::vector<char*> first(views_);
  std::vector<std::size_t> stride(views_);
  for (int64_t v = 0; v < views_; ++v) {
    const at::Tensor& view = claim.slot->views[v];
    stride[v] = static_cast<std::size_t>(view.stride(0)) * view.element_size();
    first[v] = static_cast<char*>(view.data_ptr()) + claim.row * stride[v];
  }
  for (std::size_t i = claim.begin; i < claim.end; ++i) {
    const std::size_t row = i - claim.begin;
    for (int64_t v = 0; v < views_; ++v) out[v] = first[v] + row * stride[v];
    try {
      claim.slot->indices[claim.row + row] = make_one(maker, claim, claim.pass->samples[i], out);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!claim.slot->error || i < claim.slot->error_at) {
        claim.slot->error = std::current_exception();
        claim.slot->error_at = i;
      }
    }
  }
}

// Returns the sample that was made: the one asked for or, where unreadable ones are skipped, the
// next readable one after it.
int64_t Loader::make_one(ViewMaker& maker, const Claim& claim, int64_t index,
                         std::span<void* const> out) {
  const EpochPlan& plan = claim.pass->plan;
  return first_readable(
      index, set_.size(), options_.skip_unreadable,
      [&](int64_t i) { maker.make(i, plan.epoch, plan.weights ? (*plan.weights)[i] : 0, out); },
      [&](const Error& error) {
        const std::lock_guard lock(mutex_);
        claim.slot->skipped.emplace_back(error.what());
      });
}

// Under the lock: the caller is done with the batch it has.
void Loader::release() {
  if (!holding_) return;
  holding_ = false;
  ++released_;
  work_.notify_all();
}

std::optional<LoadedBatch> Loader::next() {
  std::unique_lock lock(mutex_);
  release();
  require(!passes_.empty(), ErrorCode::internal, "a batch was asked of a loader without a pass");
  const std::shared_ptr<Pass> pass = passes_.front();
  if (pass->consumed_batches == pass->ends.size()) {
    passes_.pop_front();
    return std::nullopt;
  }
  const int64_t number = pass->first + static_cast<int64_t>(pass->consumed_batches);
  Slot& slot = ring_[static_cast<std::size_t>(number) % ring_.size()];
  const auto ready = [&] {
    return pass->claimed_batches > pass->consumed_batches && slot.missing == 0;
  };
  if (!ready()) {
    const auto started = std::chrono::steady_clock::now();
    // A read may block for ever; who wants the program to stop is not kept waiting for it.
    while (!done_.wait_for(lock, std::chrono::seconds(1), ready)) throw_if_interrupted();
    waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  }
  ++pass->consumed_batches;
  holding_ = true;
  if (slot.error) std::rethrow_exception(slot.error);
  lock.unlock();
  return hand_over(slot);
}

LoadedBatch Loader::hand_over(Slot& slot) {
  LoadedBatch batch;
  batch.indices = at::tensor(slot.indices, at::kLong);
  batch.skipped = std::move(slot.skipped);
  std::sort(batch.skipped.begin(), batch.skipped.end());
  for (int64_t v = 0; v < views_; ++v)
    batch.views.push_back(
        on_device(slot.views[v].narrow(0, 0, batch.indices.size(0)), plan_.group_of(v)));
  return batch;
}

at::Tensor Loader::on_device(const at::Tensor& view, const ViewGroup& group) const {
  if (format_ == ViewFormat::floats) return view.to(options_.device, options_.dtype);
  // The ring's memory may be filled again once this returns, so the copy is waited for.
  return normalized(view.to(options_.device), group.normalize).to(options_.dtype);
}

void Loader::reset() {
  std::unique_lock lock(mutex_);
  for (const std::shared_ptr<Pass>& pass : passes_) pass->claimed = pass->samples.size();
  resetting_ = true;
  done_.wait(lock, [&] { return busy_ == 0; });
  resetting_ = false;
  passes_.clear();
  holding_ = false;
  released_ = queued_;
}

}  // namespace gh::host
