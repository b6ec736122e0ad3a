// ghhost diff.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "report/run_diff.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>

namespace gh::host {

int diff_command(const DiffArguments& arguments) {
  const std::array<RunRecord, 2> runs = {load_run(arguments.a), load_run(arguments.b)};
  if (arguments.json)
    fmt::print("{}\n", diff_json(runs).dump(2));
  else
    fmt::print("{}", diff_text(runs));
  return kOk;
}

}  // namespace gh::host
