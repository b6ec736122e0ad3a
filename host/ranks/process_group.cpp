#include "ranks/process_group.hpp"

#include "ranks/meeting_point.hpp"
#include "ranks/mismatch.hpp"

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
#include <csignal>
#include <cstdlib>
#include <future>
#include <map>
#include <sstream>
#include <string_view>
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

using Clock = std::chrono::steady_clock;

// LibTorch's own time-outs, which say more, come first.
constexpr std::chrono::seconds kGrace(1);

// The result of `action`, for calls of LibTorch that wait without end. It runs beside; one that is
// late is left behind with all it holds.
template <class Action>
auto by(Clock::time_point deadline, Action action) {
  std::packaged_task<decltype(action())()> task(std::move(action));
  auto result = task.get_future();
  std::thread(std::move(task)).detach();
  require(result.wait_until(deadline) == std::future_status::ready, ErrorCode::io,
          "whoever listens there does not answer");
  return result.get();
}

std::vector<uint8_t> to_bytes(std::string_view text) { return {text.begin(), text.end()}; }

// Ends every process that is at the store with the same gh::Error (invalid_param). The first may be
// the store's home, which stays until the others know, or for two seconds.
[[noreturn]] void refuse(c10d::Store& store, const Launch& launch) {
  const std::vector<uint8_t> text = store.get("refused");
  store.add("refused by", 1);
  for (int i = 0; launch.rank == 0 && i < 200; ++i) {
    if (store.add("refused by", 0) >= store.add("present", 0)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  fail(ErrorCode::invalid_param, std::string(text.begin(), text.end()));
}

// Returns when all ranks are at the store. Refuses them when they do not agree on how many they
// are, or which is which: what they would then send each other does not fit together.
void count_ranks(c10d::Store& store, const Launch& launch, Clock::time_point deadline) {
  store.add("present", 1);
  const std::vector<uint8_t> world = to_bytes(std::to_string(launch.world));
  const std::vector<uint8_t> first = store.compareSet("world", {}, world);
  std::ostringstream refusal;
  if (first != world)
    refusal << "WORLD_SIZE is " << launch.world << " on rank " << launch.rank << " and "
            << std::string(first.begin(), first.end())
            << " on another; start all ranks with the same number";
  else if (store.add("rank " + std::to_string(launch.rank), 1) > 1)
    refusal << "two processes say that they are rank " << launch.rank << " of " << launch.world
            << "; give each a RANK of its own";
  if (const std::string text = refusal.str(); !text.empty()) store.set("refused", to_bytes(text));
  store.add("came", 1);
  for (;; std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
    if (store.check({"refused"})) refuse(store, launch);
    const int64_t came = store.add("came", 0);
    if (came >= launch.world) break;
    require(Clock::now() < deadline, ErrorCode::io, came, " of ", launch.world, " came");
  }
  if (store.check({"refused"})) refuse(store, launch);
}

c10::intrusive_ptr<c10d::Store> meet(const Launch& launch, const RanksPlan& plan) {
  const Clock::time_point deadline = Clock::now() + milliseconds(plan.timeout_seconds);
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(launch.port);
  options.isServer = launch.rank == 0 && !launch.agent_store;
  options.numWorkers = static_cast<size_t>(launch.world);
  options.waitWorkers = false;  // counts clients of the store, be they of this run or not
  options.timeout = milliseconds(plan.timeout_seconds);
  if (options.isServer)
    require_known(launch.address);
  else
    await_listener(launch.address, launch.port, deadline);
  return by(deadline + kGrace, [=]() -> c10::intrusive_ptr<c10d::Store> {
    auto store = c10::make_intrusive<c10d::PrefixStore>(
        "ghhost/" + launch.attempt, c10::make_intrusive<c10d::TCPStore>(launch.address, options));
    count_ranks(*store, launch, deadline);
    return store;
  });
}

// A process that was stopped for long and goes on writes to others that are gone: an error like any
// other loss, not the end by a signal.
void survive_broken_pipes() {
  struct sigaction now {};
  if (::sigaction(SIGPIPE, nullptr, &now) == 0 && now.sa_handler == SIG_DFL)
    std::signal(SIGPIPE, SIG_IGN);
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
  survive_broken_pipes();
  tell_of_mismatches();
  try {
    links_->store = meet(launch_, plan_);
    links_->cpu =
        by(Clock::now() + milliseconds(plan.timeout_seconds) + kGrace,
           [store = links_->store, launch, plan] { return make_gloo(store, launch, plan); });
#ifdef USE_C10D_NCCL
    if (plan_.device.is_cuda()) links_->cuda = make_nccl(links_->store, launch_, plan_);
#endif
  } catch (const std::exception& error) {
    close();
    if (const auto* own = dynamic_cast<const Error*>(&error);
        own != nullptr && own->code() == ErrorCode::invalid_param)
      throw;
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
  by(Clock::now() + milliseconds(plan_.timeout_seconds) + kGrace,
     [links = links_, launch = launch_] {
       c10d::Store& store = *links->store;
       if (store.add("leaving", 1) == launch.world)
         store.set("left", std::vector<uint8_t>{1});
       else
         store.wait({"left"});
       // The first may be the store's home, which stays until the others know.
       if (launch.rank != 0) store.add("told", 1);
       for (int i = 0; launch.rank == 0 && i < 500 && store.add("told", 0) < launch.world - 1; ++i)
         std::this_thread::sleep_for(std::chrono::milliseconds(10));
     });
} catch (const std::exception&) {  // somebody died after the work was done
}

void ProcessGroup::barrier() {
  guarded([&] { links_->cpu->barrier()->wait(); });
}

}  // namespace gh::host
