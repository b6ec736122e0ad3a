#include "ranks/process_group.hpp"

#include "ranks/meeting_point.hpp"

#include "gh/error.hpp"

#include <ATen/ops/empty.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#ifdef USE_C10D_NCCL
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <future>
#include <map>
#include <thread>

namespace gh::host {
namespace {

// The first sentence, without Gloo's "[file:line] ".
std::string reason_of(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  std::string text = torch_error != nullptr ? torch_error->what_without_backtrace() : error.what();
  text = text.substr(0, text.find('\n'));
  text = text.substr(0, std::min(text.find(". "), text.find(", keys: ")));
  if (text.starts_with('['))
    if (const size_t end = text.find("] "); end != std::string::npos) text.erase(0, end + 2);
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
  return text;
}

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

c10::intrusive_ptr<c10d::Store> meet(const Launch& launch, const RanksPlan& plan) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(launch.port);
  options.isServer = launch.rank == 0 && !launch.agent_store;
  options.numWorkers = static_cast<size_t>(launch.world);
  options.waitWorkers = false;  // counts clients of the store, be they of this run or not
  options.timeout = milliseconds(plan.timeout_seconds);
  if (options.isServer)
    require_known(launch.address);
  else
    await_listener(launch.address, launch.port, std::chrono::steady_clock::now() + options.timeout);
  auto store = c10::make_intrusive<c10d::TCPStore>(launch.address, options);
  return c10::make_intrusive<c10d::PrefixStore>("ghhost/" + launch.attempt, store);
}

c10::intrusive_ptr<c10d::Backend> make_gloo(const c10::intrusive_ptr<c10d::Store>& store,
                                            const Launch& launch, const RanksPlan& plan) {
  using c10d::ProcessGroupGloo;
  const auto timeout = milliseconds(plan.timeout_seconds);
  c10::intrusive_ptr<ProcessGroupGloo::Options> options;
  if (launch.local_world == launch.world && std::getenv("GLOO_SOCKET_IFNAME") == nullptr) {
    // Whatever the name of this machine resolves to, its processes meet on the loopback.
    options = ProcessGroupGloo::Options::create(timeout);
    options->devices.push_back(ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
  } else {
    options = ProcessGroupGloo::Options::create_default(timeout);
  }
  return c10::make_intrusive<ProcessGroupGloo>(
      c10::make_intrusive<c10d::PrefixStore>("gloo", store), static_cast<int>(launch.rank),
      static_cast<int>(launch.world), options);
}

#ifdef USE_C10D_NCCL
c10::intrusive_ptr<c10d::Backend> make_nccl(const c10::intrusive_ptr<c10d::Store>& store,
                                            const Launch& launch, const RanksPlan& plan) {
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = milliseconds(plan.timeout_seconds);
  auto group = c10::make_intrusive<c10d::ProcessGroupNCCL>(
      c10::make_intrusive<c10d::PrefixStore>("nccl", store), static_cast<int>(launch.rank),
      static_cast<int>(launch.world), options);
  group->setBoundDeviceId(plan.device);
  return group;
}
#endif

}  // namespace

struct ProcessGroup::Links {
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<c10d::Backend> cpu, cuda;  // without NCCL the latter is null
  // Kept here, since a work holds the connections open that close() wants to end.
  std::map<int64_t, c10::intrusive_ptr<c10d::Work>> works;
  int64_t started = 0;

  ~Links() {
    works.clear();
    cuda.reset();
    cpu.reset();
  }
  c10d::Backend& backend(const at::Tensor& value) { return value.is_cpu() ? *cpu : *cuda; }
  void wait(int64_t id) {
    const auto work = works.extract(id).mapped();
    work->wait();
  }
};

ProcessGroup::ProcessGroup(const Launch& launch, const RanksPlan& plan)
    : launch_(launch), plan_(plan), links_(std::make_shared<Links>()) {
  try {
    links_->store = meet(launch_, plan_);
    links_->cpu = make_gloo(links_->store, launch_, plan_);
#ifdef USE_C10D_NCCL
    if (plan_.device.is_cuda()) links_->cuda = make_nccl(links_->store, launch_, plan_);
#endif
  } catch (const std::exception& error) {
    close();
    fail(ErrorCode::io, "rank ", launch_.rank, " of ", launch_.world,
         " did not meet the others at ", launch_.address, ':', launch_.port, " within ",
         plan_.timeout_seconds, " s (", reason_of(error),
         "): start all ranks, where that machine and port (MASTER_ADDR, MASTER_PORT) can be "
         "reached and nobody else uses the port");
  }
}

ProcessGroup::~ProcessGroup() { close(); }

// LibTorch's destructors wait for what is under way, perhaps for a process that will never answer.
// So they run beside; a program that exits leaves them behind.
void ProcessGroup::close() noexcept try {
  if (links_ == nullptr) return;
  std::promise<void> closed;
  auto future = closed.get_future();
  std::thread([links = std::move(links_), closed = std::move(closed)]() mutable {
    links.reset();
    closed.set_value();
  }).detach();
  future.wait_for(std::chrono::seconds(2));
} catch (const std::exception&) {  // no thread to be had: nothing else to try
}

template <class Action>
void ProcessGroup::guarded(const Action& action) {
  require(lost_.empty(), ErrorCode::io, lost_);
  std::string reason;
  try {
    action();
    return;
  } catch (const std::exception& error) {
    reason = reason_of(error);
  }
  std::ostringstream text;
  text << "rank " << launch_.rank << " lost the others (" << reason
       << "): another process died or hung for more than " << plan_.timeout_seconds
       << " s; start all ranks again with --resume";
  lost_ = text.str();
  close();
  throw Error(ErrorCode::io, lost_);
}

// Without NCCL a CUDA tensor travels by way of the CPU.
at::Tensor ProcessGroup::carrier(const at::Tensor& value) const {
  const bool direct = value.is_cpu() || (links_ != nullptr && links_->cuda != nullptr);
  return direct ? value : value.cpu();
}

std::function<void()> ProcessGroup::start_sum(const at::Tensor& value) {
  const at::Tensor carried = carrier(value);
  int64_t id = 0;
  guarded([&] {
    std::vector<at::Tensor> tensors{carried};
    auto work = links_->backend(carried).allreduce(tensors);
    id = links_->started++;
    links_->works.emplace(id, std::move(work));
  });
  return [this, id, value, carried] {
    guarded([&] { links_->wait(id); });
    if (!carried.is_same(value)) value.copy_(carried);
  };
}

at::Tensor ProcessGroup::gather(const at::Tensor& bytes) {
  at::Tensor carried = carrier(bytes);
  at::Tensor all = at::empty({world() * bytes.numel()}, carried.options());
  guarded([&] { links_->backend(carried)._allgather_base(all, carried)->wait(); });
  return all.to(bytes.device());
}

void ProcessGroup::broadcast(const at::Tensor& bytes) {
  const at::Tensor carried = carrier(bytes);
  guarded([&] {
    std::vector<at::Tensor> tensors{carried};
    links_->backend(carried).broadcast(tensors)->wait();
  });
  if (!carried.is_same(bytes)) bytes.copy_(carried);
}

at::Tensor ProcessGroup::exchange(const at::Tensor& rows, std::vector<int64_t> send,
                                  std::vector<int64_t> receive) {
  at::Tensor carried = carrier(rows);
  int64_t coming = 0;
  for (const int64_t n : receive) coming += n;
  at::Tensor received = at::empty({coming, rows.size(1)}, carried.options());
  guarded(
      [&] { links_->backend(carried).alltoall_base(received, carried, receive, send)->wait(); });
  return received.to(rows.device());
}

// Through the store: a message between processes would be a connection to wait on again.
void ProcessGroup::leave() noexcept try {
  if (links_ == nullptr) return;
  c10d::Store& store = *links_->store;
  if (store.add("leaving", 1) == world())
    store.set("left", std::vector<uint8_t>{1});
  else
    store.wait({"left"});
  // The first may be the store's home, which stays until the others know.
  if (rank() != 0) {
    store.add("told", 1);
    return;
  }
  for (int i = 0; i < 500 && store.add("told", 0) < world() - 1; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
} catch (const std::exception&) {  // somebody died after the work was done
}

void ProcessGroup::barrier() {
  guarded([&] { links_->cpu->barrier()->wait(); });
}

}  // namespace gh::host
