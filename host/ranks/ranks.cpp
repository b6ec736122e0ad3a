#include "ranks/ranks.hpp"

#include "ranks/process_group.hpp"

#include "gh/error.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cstring>

namespace gh::host {
namespace {

at::Tensor as_bytes(const at::Tensor& contiguous) {
  return contiguous.reshape({-1}).view(at::kByte);
}

at::Tensor sum_over(ProcessGroup& group, const at::Tensor& value) {
  at::NoGradGuard no_grad;
  const at::Tensor sum = value.detach().clone(at::MemoryFormat::Contiguous);
  group.start_sum(sum)();
  return sum;
}

at::Tensor gather_over(ProcessGroup& group, const at::Tensor& rows) {
  at::NoGradGuard no_grad;
  std::vector<int64_t> shape = rows.sizes().vec();
  shape[0] *= group.world();
  if (rows.numel() == 0) return at::empty(shape, rows.options());
  const at::Tensor bytes = as_bytes(rows.detach().contiguous());
  return group.gather(bytes).view(rows.scalar_type()).view(shape);
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// A graph remembers the group by address: Ranks outlives it.
void keep(AutogradContext* context, ProcessGroup* group) {
  context->saved_data["group"] = reinterpret_cast<int64_t>(group);
}
ProcessGroup& kept(AutogradContext* context) {
  return *reinterpret_cast<ProcessGroup*>(context->saved_data["group"].toInt());
}

struct SumOverRanks final : torch::autograd::Function<SumOverRanks> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& value,
                            ProcessGroup* group) {
    keep(context, group);
    return sum_over(*group, value);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return {sum_over(kept(context), gradients[0]), at::Tensor()};
  }
};

struct GatherOverRanks final : torch::autograd::Function<GatherOverRanks> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& rows, ProcessGroup* group) {
    keep(context, group);
    context->saved_data["rows"] = rows.size(0);
    return gather_over(*group, rows);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    ProcessGroup& group = kept(context);
    const int64_t rows = context->saved_data["rows"].toInt();
    return {sum_over(group, gradients[0]).narrow(0, group.rank() * rows, rows), at::Tensor()};
  }
};

constexpr int64_t kBroadcastBytes = 32 << 20;

// One message for tensors of one device.
void broadcast_together(ProcessGroup& group, std::span<at::Tensor> tensors) {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& tensor : tensors) parts.push_back(as_bytes(tensor.detach().contiguous()));
  const at::Tensor bytes = at::cat(parts);
  if (bytes.numel() == 0) return;
  group.broadcast(bytes);
  if (group.rank() == 0) return;
  int64_t at = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    // A copy, since a dtype's values must begin at a multiple of its size.
    const at::Tensor part = bytes.narrow(0, at, parts[i].numel()).clone();
    tensors[i].copy_(part.view(tensors[i].scalar_type()).view(tensors[i].sizes()));
    at += parts[i].numel();
  }
}

}  // namespace

Ranks::Ranks(std::unique_ptr<ProcessGroup> group) : group_(std::move(group)) {}
Ranks::~Ranks() = default;

std::unique_ptr<Ranks> Ranks::join(const Launch& launch, const RanksPlan& plan) {
  if (launch.world == 1) return alone();
  return std::unique_ptr<Ranks>(new Ranks(std::make_unique<ProcessGroup>(launch, plan)));
}
std::unique_ptr<Ranks> Ranks::alone() { return std::unique_ptr<Ranks>(new Ranks(nullptr)); }

int64_t Ranks::rank() const { return group_ ? group_->rank() : 0; }
int64_t Ranks::world() const { return group_ ? group_->world() : 1; }

at::Tensor Ranks::all_gather(const at::Tensor& rows) {
  if (!group_) return rows;
  require(rows.dim() >= 1, ErrorCode::shape, "all_gather needs rows, got a tensor of no dimension");
  return GatherOverRanks::apply(rows, group_.get());
}

at::Tensor Ranks::all_reduce_sum(const at::Tensor& value) {
  if (!group_) return value;
  return SumOverRanks::apply(value, group_.get());
}

// sources[i] is the row, counted over all ranks, that comes to row i, counted likewise.
at::Tensor Ranks::move_rows(const at::Tensor& rows, const at::Tensor& sources) {
  at::NoGradGuard no_grad;
  const int64_t b = rows.size(0), first = rank() * b;
  const int64_t* source = sources.const_data_ptr<int64_t>();
  std::vector<int64_t> send(world()), receive(world());
  // Both sides name the rows of one pair of ranks in the order of their new places.
  std::vector<std::vector<int64_t>> leaving(world()), coming(world());
  for (int64_t i = 0; i < world() * b; ++i) {
    if (source[i] / b == rank()) leaving[i / b].push_back(source[i] - first);
    if (i / b == rank()) coming[source[i] / b].push_back(i - first);
  }
  std::vector<int64_t> order, places;
  for (int64_t other = 0; other < world(); ++other) {
    send[other] = static_cast<int64_t>(leaving[other].size());
    receive[other] = static_cast<int64_t>(coming[other].size());
    order.insert(order.end(), leaving[other].begin(), leaving[other].end());
    places.insert(places.end(), coming[other].begin(), coming[other].end());
  }
  const auto index = [&](std::vector<int64_t>& of) {
    return at::from_blob(of.data(), {b}, at::kLong).to(rows.device(), at::kLong, false, true);
  };
  const at::Tensor outgoing = rows.detach().index_select(0, index(order)).contiguous();
  const at::Tensor received = group_->exchange(as_bytes(outgoing).view({b, -1}), send, receive);
  at::Tensor moved = at::empty_like(outgoing);
  return moved.index_copy_(0, index(places),
                           as_bytes(received).view(rows.scalar_type()).view(rows.sizes()));
}

at::Tensor Ranks::shuffle_rows(const at::Tensor& rows, Random random) {
  if (!group_ || rows.numel() == 0) return rows.detach();
  return move_rows(rows, random.permutation(world() * rows.size(0)).argsort());
}

at::Tensor Ranks::unshuffle_rows(const at::Tensor& rows, Random random) {
  if (!group_ || rows.numel() == 0) return rows.detach();
  return move_rows(rows, random.permutation(world() * rows.size(0)));
}

void Ranks::broadcast(std::span<at::Tensor> tensors) {
  if (!group_) return;
  at::NoGradGuard no_grad;
  for (size_t from = 0; from < tensors.size();) {
    size_t to = from;
    int64_t bytes = 0;
    while (to < tensors.size() && tensors[to].device() == tensors[from].device() &&
           (to == from || bytes + static_cast<int64_t>(tensors[to].nbytes()) <= kBroadcastBytes))
      bytes += static_cast<int64_t>(tensors[to++].nbytes());
    broadcast_together(*group_, tensors.subspan(from, to - from));
    from = to;
  }
}

std::string Ranks::broadcast_text(std::string_view from_rank_0) {
  if (!group_) return std::string(from_rank_0);
  int64_t size = static_cast<int64_t>(from_rank_0.size());
  group_->broadcast(at::from_blob(&size, {sizeof size}, at::kByte));
  std::string text(from_rank_0);
  text.resize(static_cast<size_t>(size));
  if (size > 0) group_->broadcast(at::from_blob(text.data(), {size}, at::kByte));
  return text;
}

std::vector<std::string> Ranks::gather_text(std::string_view own) {
  if (!group_) return {std::string(own)};
  int64_t size = static_cast<int64_t>(own.size());
  const at::Tensor gathered = group_->gather(at::from_blob(&size, {sizeof size}, at::kByte));
  std::vector<int64_t> sizes(static_cast<size_t>(world()));
  std::memcpy(sizes.data(), gathered.const_data_ptr(), gathered.nbytes());
  std::string padded(own);
  padded.resize(static_cast<size_t>(*std::max_element(sizes.begin(), sizes.end())));
  std::vector<std::string> texts(sizes.size());
  if (padded.empty()) return texts;
  const at::Tensor all = group_->gather(
      at::from_blob(padded.data(), {static_cast<int64_t>(padded.size())}, at::kByte));
  const char* begin = reinterpret_cast<const char*>(all.const_data_ptr());
  for (size_t i = 0; i < texts.size(); ++i, begin += padded.size())
    texts[i].assign(begin, static_cast<size_t>(sizes[i]));
  return texts;
}

void Ranks::sum_in_place(at::Tensor& value) {
  if (!group_) return;
  at::NoGradGuard no_grad;
  const at::Tensor sum = sum_over(*group_, value);
  value.copy_(sum);
}

std::function<void()> Ranks::start_sum(const at::Tensor& value) {
  if (!group_) return [] {};
  require(value.is_contiguous(), ErrorCode::shape, "start_sum needs a contiguous tensor");
  return group_->start_sum(value.detach());
}

void Ranks::leave() noexcept {
  if (group_) group_->leave();
}

void Ranks::barrier() {
  if (group_) group_->barrier();
}

}  // namespace gh::host
