#include "ranks/launch.hpp"

#include "gh/error.hpp"
#include "gh/random.hpp"

#include <charconv>
#include <optional>

namespace gh::host {
namespace {

// The names under which one launcher passes the same facts. Null: it does not.
struct Names {
  std::string_view how;
  const char* rank;
  const char* world;
  const char* local_rank;
  const char* local_world;
};

constexpr Names kByHand{"environment", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
constexpr Names kMpirun{"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                        "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"};
constexpr Names kSrun{"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr};

class Reader {
 public:
  explicit Reader(const Environment& environment) : environment_(environment) {}

  std::string text(const char* name) const {
    const char* value = name != nullptr ? environment_(name) : nullptr;
    return value != nullptr ? value : "";
  }
  bool has(const char* name) const { return !text(name).empty(); }

  // Between `least` and `most`; absent when the variable is not set.
  std::optional<int64_t> number(const char* name, int64_t least, int64_t most) const {
    const std::string value = text(name);
    if (value.empty()) return std::nullopt;
    int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    require(error == std::errc() && end == value.data() + value.size() && number >= least &&
                number <= most,
            ErrorCode::invalid_param, name, " must be a whole number from ", least, " to ", most,
            ", got \"", value, '"');
    return number;
  }
  int64_t needed(const char* name, const char* because, int64_t least, int64_t most) const {
    const auto value = number(name, least, most);
    require(value.has_value(), ErrorCode::invalid_param, because, " is set but ", name,
            " is not; set both, or neither for a run of one process");
    return *value;
  }

 private:
  const Environment& environment_;
};

constexpr int64_t kMostRanks = 1 << 20;

Names launcher(const Reader& read) {
  if (read.has("RANK")) return kByHand;
  if (read.has("OMPI_COMM_WORLD_RANK")) return kMpirun;
  // A batch script has SLURM_PROCID too; only a step has a number.
  if (read.has("SLURM_STEP_ID") && read.has("SLURM_PROCID")) return kSrun;
  return kByHand;
}

// "2(x3),1" → 2 for node 0..2, 1 for node 3: how many tasks Slurm starts on each node.
int64_t tasks_on_node(const std::string& list, int64_t node) {
  for (size_t at = 0; at < list.size();) {
    int64_t tasks = 0, times = 1;
    const char* end = list.data() + list.size();
    const char* next = std::from_chars(list.data() + at, end, tasks).ptr;
    if (end - next >= 3 && next[0] == '(' && next[1] == 'x')
      next = std::from_chars(next + 2, end, times).ptr + 1;
    if (node < times) return tasks;
    node -= times;
    at = static_cast<size_t>(next - list.data()) + 1;
  }
  return 0;
}

void read_places(const Reader& read, const Names& names, Launch& launch) {
  launch.rank = read.needed(names.rank, names.world, 0, kMostRanks);
  launch.world = read.needed(names.world, names.rank, 1, kMostRanks);
  require(launch.rank < launch.world, ErrorCode::invalid_param, names.rank, " must be below ",
          names.world, ", got ", launch.rank, " of ", launch.world);
  // Without word about this machine, all ranks are taken to be on it when they meet there.
  const std::string address = read.text("MASTER_ADDR");
  const bool here = address.empty() || address == "localhost" || address == "127.0.0.1";
  const auto local_world = read.number(names.local_world, 1, kMostRanks);
  launch.local_world = local_world.value_or(here ? launch.world : 1);
  if (names.how == kSrun.how) {
    const auto node = read.number("SLURM_NODEID", 0, kMostRanks).value_or(0);
    const int64_t tasks = tasks_on_node(read.text("SLURM_STEP_TASKS_PER_NODE"), node);
    launch.local_world = tasks > 0 ? tasks : launch.world;
  }
  const auto local_rank = read.number(names.local_rank, 0, kMostRanks);
  launch.local_rank = local_rank.value_or(launch.local_world == launch.world ? launch.rank : 0);
  require(launch.local_world <= launch.world, ErrorCode::invalid_param,
          names.local_world != nullptr ? names.local_world : "SLURM_STEP_TASKS_PER_NODE",
          " must not exceed ", names.world, ", got ", launch.local_world, " of ", launch.world);
  require(launch.local_rank < launch.local_world || !local_world.has_value(),
          ErrorCode::invalid_param, names.local_rank, " must be below ", names.local_world,
          ", got ", launch.local_rank, " of ", launch.local_world);
}

// Scripts often export these for a program that srun or mpirun then starts.
void check_exported(const Reader& read, const Names& names, const Launch& launch) {
  if (names.how == kByHand.how) return;
  const auto world = read.number("WORLD_SIZE", 1, kMostRanks);
  require(!world.has_value() || *world == launch.world, ErrorCode::invalid_param,
          "WORLD_SIZE says ", world.value_or(0), " processes, but ", names.world, " of ", names.how,
          " says ", launch.world, "; unset WORLD_SIZE or start as many");
}

// Below the ports that the system gives out by itself, from something that only this start has.
int port_of(std::string_view start) {
  return 15000 + static_cast<int>(stream_key(0, start) % 10000);
}

// What all processes of this start, and nobody else's, have in common.
std::string start_of(const Reader& read, const Names& names) {
  if (names.how == kSrun.how)
    return "srun." + read.text("SLURM_JOB_ID") + '.' + read.text("SLURM_STEP_ID") + '.' +
           read.text("SLURM_RESTART_COUNT");
  if (names.how == kMpirun.how) {
    for (const char* name : {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMIX_ID"})
      if (read.has(name)) return "mpirun." + read.text(name);
    return "mpirun";
  }
  if (read.has("TORCHELASTIC_RUN_ID"))
    return "torchrun." + read.text("TORCHELASTIC_RUN_ID") + '.' +
           read.text("TORCHELASTIC_RESTART_COUNT");
  return "";
}

void read_meeting(const Reader& read, const Names& names, Launch& launch) {
  launch.address = read.text("MASTER_ADDR");
  launch.port = static_cast<int>(read.number("MASTER_PORT", 1, 65535).value_or(0));
  const bool by_hand = names.how == kByHand.how;
  if (launch.address.empty() && !by_hand) {
    if (launch.local_world == launch.world)
      launch.address = "127.0.0.1";
    else if (names.how == kSrun.how)
      launch.address = first_host(read.text("SLURM_STEP_NODELIST"));
  }
  require(!launch.address.empty(), ErrorCode::invalid_param,
          names.how == kMpirun.how
              ? "mpirun does not say where rank 0 runs; give its machine with -x MASTER_ADDR=…"
              : "MASTER_ADDR must name the machine of rank 0 when WORLD_SIZE is above 1");
  if (launch.port == 0 && !by_hand) launch.port = port_of(launch.attempt);
  require(launch.port != 0, ErrorCode::invalid_param,
          "MASTER_PORT must be a free port of MASTER_ADDR when WORLD_SIZE is above 1");
}

}  // namespace

Launch read_launch(const Environment& environment) {
  const Reader read(environment);
  const Names names = launcher(read);
  Launch launch;
  if (!read.has(names.rank) && read.number(names.world, 1, kMostRanks).value_or(1) == 1)
    return launch;
  read_places(read, names, launch);
  check_exported(read, names, launch);
  const bool torchrun = names.how == kByHand.how && read.has("TORCHELASTIC_RUN_ID");
  launch.how = torchrun ? "torchrun" : names.how;
  launch.attempt = start_of(read, names);
  launch.agent_store = torchrun && read.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
  if (launch.world > 1) read_meeting(read, names, launch);
  return launch;
}

std::string describe(const Launch& launch) {
  if (launch.how == "alone") return "one process";
  std::string text = "rank " + std::to_string(launch.rank) + " of " + std::to_string(launch.world);
  if (launch.local_world == launch.world)
    text += " on this machine";
  else
    text += ", number " + std::to_string(launch.local_rank) + " of " +
            std::to_string(launch.local_world) + " on this machine";
  text += " (" + launch.how + ")";
  if (launch.world > 1)
    text += ", meeting at " + launch.address + ':' + std::to_string(launch.port);
  return text;
}

std::string first_host(std::string_view host_list) {
  std::string name;
  for (size_t at = 0; at < host_list.size() && host_list[at] != ','; ++at) {
    if (host_list[at] != '[') {
      name += host_list[at];
      continue;
    }
    // The first entry of the brackets up to its end, then what follows them.
    const size_t close = host_list.find(']', at);
    if (close == std::string_view::npos) return "";
    const std::string_view inside = host_list.substr(at + 1, close - at - 1);
    name += inside.substr(0, inside.find_first_of(",-"));
    at = close;
  }
  return name;
}

}  // namespace gh::host
