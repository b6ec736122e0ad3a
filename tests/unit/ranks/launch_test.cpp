#include "ranks/launch.hpp"

#include "gh/error.hpp"

#include <catch2/catch.hpp>

#include <map>

using namespace gh::host;

namespace {

using Table = std::map<std::string, std::string>;

Launch launch(const Table& table) {
  return read_launch([&](const char* name) -> const char* {
    const auto found = table.find(name);
    return found != table.end() ? found->second.c_str() : nullptr;
  });
}

const Table kTorchrun{{"RANK", "3"},
                      {"WORLD_SIZE", "4"},
                      {"LOCAL_RANK", "1"},
                      {"LOCAL_WORLD_SIZE", "2"},
                      {"GROUP_RANK", "1"},
                      {"MASTER_ADDR", "node01"},
                      {"MASTER_PORT", "29501"},
                      {"TORCHELASTIC_RUN_ID", "none"},
                      {"TORCHELASTIC_RESTART_COUNT", "1"},
                      {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
const Table kSrun{{"SLURM_JOB_ID", "71"},
                  {"SLURM_STEP_ID", "0"},
                  {"SLURM_PROCID", "4"},
                  {"SLURM_NTASKS", "5"},
                  {"SLURM_STEP_NUM_TASKS", "5"},
                  {"SLURM_LOCALID", "0"},
                  {"SLURM_NODEID", "2"},
                  {"SLURM_STEP_TASKS_PER_NODE", "2(x2),1"},
                  {"SLURM_STEP_NODELIST", "node[01-02,7]"}};
const Table kMpirun{{"OMPI_COMM_WORLD_RANK", "1"},
                    {"OMPI_COMM_WORLD_SIZE", "2"},
                    {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                    {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                    {"PMIX_NAMESPACE", "2519334913"}};

Table with(Table table, const Table& more) {
  for (const auto& [name, value] : more) table[name] = value;
  return table;
}
Table without(Table table, const std::string& name) {
  table.erase(name);
  return table;
}

}  // namespace

TEST_CASE("a process that nobody launched is alone") {
  for (const Table& table : {Table{}, Table{{"WORLD_SIZE", "1"}},
                             // A batch script: tasks were asked for, this is none of them.
                             Table{{"SLURM_JOB_ID", "71"},
                                   {"SLURM_PROCID", "0"},
                                   {"SLURM_NTASKS", "8"},
                                   {"SLURM_LOCALID", "0"}},
                             Table{{"SLURM_JOB_ID", "71"}, {"SLURM_NTASKS", "8"}}}) {
    const Launch alone = launch(table);
    CHECK(alone.rank == 0);
    CHECK(alone.world == 1);
    CHECK(alone.how == "alone");
    CHECK(describe(alone) == "one process");
  }
}

TEST_CASE("torchrun's workers use its store and number their attempts") {
  const Launch worker = launch(kTorchrun);
  CHECK(worker.rank == 3);
  CHECK(worker.world == 4);
  CHECK(worker.local_rank == 1);
  CHECK(worker.local_world == 2);
  CHECK(worker.agent_store);
  CHECK(worker.how == "torchrun");
  CHECK(describe(worker) ==
        "rank 3 of 4, number 1 of 2 on this machine (torchrun), meeting at node01:29501");
  CHECK(worker.attempt != launch(with(kTorchrun, {{"TORCHELASTIC_RESTART_COUNT", "0"}})).attempt);
  CHECK_FALSE(launch(with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "False"}})).agent_store);
}

TEST_CASE("srun's tasks meet on the first node of their step") {
  const Launch task = launch(kSrun);
  CHECK(task.rank == 4);
  CHECK(task.world == 5);
  CHECK(task.local_rank == 0);
  CHECK(task.local_world == 1);
  CHECK(task.address == "node01");
  CHECK(task.port >= 15000);
  CHECK(task.port < 25000);
  CHECK_FALSE(task.agent_store);
  CHECK(task.how == "srun");
  // Another step, job or restart is another start.
  for (const char* name : {"SLURM_STEP_ID", "SLURM_JOB_ID", "SLURM_RESTART_COUNT"}) {
    const Launch other = launch(with(kSrun, {{name, "9"}}));
    CHECK(other.attempt != task.attempt);
    CHECK(other.port != task.port);
  }
  const Launch second =
      launch(with(kSrun, {{"SLURM_PROCID", "1"}, {"SLURM_LOCALID", "1"}, {"SLURM_NODEID", "0"}}));
  CHECK(second.local_world == 2);
  CHECK(second.port == task.port);
  const Launch here =
      launch(with(kSrun, {{"SLURM_NODEID", "0"}, {"SLURM_STEP_TASKS_PER_NODE", "5"}}));
  CHECK(here.address == "127.0.0.1");
  CHECK(describe(here).find("rank 4 of 5 on this machine (srun), meeting at 127.0.0.1:") == 0);
}

TEST_CASE("what a batch script exported counts for srun's tasks") {
  const Launch task =
      launch(with(kSrun, {{"MASTER_ADDR", "head"}, {"MASTER_PORT", "5000"}, {"WORLD_SIZE", "5"}}));
  CHECK(task.rank == 4);
  CHECK(task.address == "head");
  CHECK(task.port == 5000);
  CHECK(task.how == "srun");
}

TEST_CASE("torchrun and mpirun inside a step are not srun") {
  CHECK(launch(with(kSrun, kTorchrun)).how == "torchrun");
  CHECK(launch(with(kSrun, kTorchrun)).world == 4);
  CHECK(launch(with(kSrun, kMpirun)).how == "mpirun");
}

TEST_CASE("mpirun's processes meet on this machine or where they are told") {
  const Launch process = launch(kMpirun);
  CHECK(process.rank == 1);
  CHECK(process.world == 2);
  CHECK(process.local_rank == 1);
  CHECK(process.local_world == 2);
  CHECK(process.address == "127.0.0.1");
  CHECK(process.how == "mpirun");
  CHECK(process.port == launch(with(kMpirun, {{"OMPI_COMM_WORLD_RANK", "0"}})).port);
  CHECK(process.port != launch(with(kMpirun, {{"PMIX_NAMESPACE", "2519334914"}})).port);
  const Table apart = with(kMpirun, {{"OMPI_COMM_WORLD_SIZE", "4"}});
  CHECK_THROWS_WITH(launch(apart), Catch::Contains("-x MASTER_ADDR"));
  CHECK(launch(with(apart, {{"MASTER_ADDR", "a"}})).address == "a");
}

TEST_CASE("four variables set by hand are enough") {
  const Table table{
      {"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "localhost"}, {"MASTER_PORT", "29500"}};
  const Launch second = launch(table);
  CHECK(second.local_rank == 1);
  CHECK(second.local_world == 2);
  CHECK(second.how == "environment");
  CHECK(describe(second) ==
        "rank 1 of 2 on this machine (environment), meeting at localhost:29500");
  const Launch apart = launch(with(table, {{"MASTER_ADDR", "node01"}}));
  CHECK(apart.local_rank == 0);
  CHECK(apart.local_world == 1);
  const Launch only = launch({{"RANK", "0"}, {"WORLD_SIZE", "1"}});
  CHECK(only.world == 1);
  CHECK(only.address.empty());
}

TEST_CASE("variables that contradict each other are named") {
  const struct {
    Table table;
    const char* names;
  } cases[] = {
      {{{"RANK", "0"}}, "RANK is set but WORLD_SIZE is not"},
      {{{"WORLD_SIZE", "2"}}, "WORLD_SIZE is set but RANK is not"},
      {with(kTorchrun, {{"RANK", "4"}}), "RANK must be below WORLD_SIZE, got 4 of 4"},
      {with(kTorchrun, {{"RANK", "x"}}), "RANK must be a whole number"},
      {with(kTorchrun, {{"RANK", "-1"}}), "RANK must be a whole number"},
      {with(kTorchrun, {{"WORLD_SIZE", "4.0"}}), "WORLD_SIZE must be a whole number"},
      {with(kTorchrun, {{"LOCAL_RANK", "2"}}), "LOCAL_RANK must be below LOCAL_WORLD_SIZE"},
      {with(kTorchrun, {{"LOCAL_WORLD_SIZE", "5"}}), "LOCAL_WORLD_SIZE must not exceed WORLD_SIZE"},
      {with(kTorchrun, {{"MASTER_PORT", "70000"}}), "MASTER_PORT must be a whole number"},
      {without(kTorchrun, "MASTER_PORT"), "MASTER_PORT must be"},
      {without(kTorchrun, "MASTER_ADDR"), "MASTER_ADDR must name"},
      {without(kSrun, "SLURM_STEP_NUM_TASKS"), "SLURM_PROCID is set but SLURM_STEP_NUM_TASKS"},
      {with(kSrun, {{"WORLD_SIZE", "8"}}), "WORLD_SIZE says 8 processes"},
      {with(kMpirun, {{"WORLD_SIZE", "8"}}), "WORLD_SIZE says 8 processes"},
  };
  for (const auto& [table, names] : cases) {
    INFO(names);
    try {
      launch(table);
      FAIL("no error");
    } catch (const gh::Error& error) {
      CHECK(error.code() == gh::ErrorCode::invalid_param);
      CHECK_THAT(error.what(), Catch::Contains(names));
    }
  }
}

TEST_CASE("the first host of a Slurm list") {
  CHECK(first_host("node[01-03,7]") == "node01");
  CHECK(first_host("node[7,01-03]") == "node7");
  CHECK(first_host("a1,b[2-3]") == "a1");
  CHECK(first_host("rack[2-4]-gpu[08,10],x") == "rack2-gpu08");
  CHECK(first_host("node[1-2].cluster.org") == "node1.cluster.org");
  CHECK(first_host("alone") == "alone");
  CHECK(first_host("") == "");
  CHECK(first_host("broken[1-") == "");
}
