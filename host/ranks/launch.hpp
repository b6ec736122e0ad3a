// What a launcher's environment says about the processes of a run: torchrun, srun, mpirun, or the
// variables RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT set by hand. Nothing is asked of the
// network or of other programs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace gh::host {

struct Launch {
  int64_t rank = 0, world = 1;
  int64_t local_rank = 0, local_world = 1;  // among the processes on this machine
  std::string address;                      // where rank 0, or the launcher's store, listens
  int port = 0;
  bool agent_store = false;   // the launcher already listens there; rank 0 must not
  std::string attempt;        // keeps this start's keys apart from those of others
  std::string how = "alone";  // torchrun, srun, mpirun, environment, alone
};

// getenv, or a table in tests; null for a variable that is not set.
using Environment = std::function<const char*(const char*)>;

// RANK and WORLD_SIZE are believed first, then mpirun's variables, then srun's, these only inside a
// job step: a batch script that calls ghhost itself is alone. MASTER_ADDR and MASTER_PORT replace
// what is inferred from mpirun and srun. gh::Error (invalid_param) names the variable that is
// missing, no number, or contradicts another.
Launch read_launch(const Environment& environment);

// "rank 0 of 2 on this machine (torchrun), meeting at node01:29500".
std::string describe(const Launch& launch);

// The first name of a Slurm host list: "node[01-03,7],login" → "node01".
std::string first_host(std::string_view host_list);

}  // namespace gh::host
