// ghhost export.
#include "session/assembly.hpp"
#include "session/describing.hpp"
#include "session/export.hpp"
#include "session/restoring.hpp"
#include "session/session.hpp"

#include <fmt/format.h>

namespace gh::host {

std::string export_run(const Recipe& recipe, Registry& registry, const std::filesystem::path& run,
                       Which which, const std::filesystem::path& out) {
  const TrainPlan plan = read_plan(recipe);
  Process process(plan.process, Process::Company::alone);
  Assembly assembly(recipe, registry, process, plan, {.run = run, .evaluates = false});
  const Restored restored = restore(assembly, run, which);
  const std::shared_ptr<Encoder> encoder =
      assembly.components.method.call("clone_encoder", &SslMethod::clone_encoder, assembly.host);
  const TensorFile file = export_encoder(*encoder, export_facts(assembly, restored.epochs));
  write_safetensors(out, file);
  return fmt::format("{} tensors of {} after {} epochs → {}", file.tensors.size(),
                     assembly.components.backbone.slot.id, restored.epochs, out.string());
}

}  // namespace gh::host
