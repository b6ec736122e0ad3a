// ghhost diff.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "report/run_diff.hpp"
#include "run/standard_streams.hpp"
#include "text/json.hpp"

#include <fmt/format.h>

#include <array>

namespace gh::host {

int diff_command(const DiffArguments& arguments) {
  const std::array<RunRecord, 2> runs = {load_run(arguments.a), load_run(arguments.b)};
  if (arguments.json)
    print_result("{}\n", json_text(diff_json(runs), 2));
  else
    print_result("{}", diff_text(runs));
  return kOk;
}

}  // namespace gh::host
