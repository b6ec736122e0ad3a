#include "session/opening.hpp"

#include "run/run_lock.hpp"
#include "session/assembly.hpp"
#include "session/run_identity.hpp"
#include "session/same_run.hpp"

#include "gh/error.hpp"

#include <nlohmann/json.hpp>

namespace gh::host {
namespace {

Opened open_as_first(const Assembly& run, const RunOptions& options) {
  const std::filesystem::path wanted = run_to_resume(options, run.plan.name);
  if (!options.resume || wanted.empty() || !RunLock::has_been_in(wanted))
    return {.directory = RunDirectory::create(options.out, run.plan.name)};
  Opened opened{.directory = RunDirectory::reopen(wanted)};
  const std::filesystem::path& path = opened.directory.path();
  Console& console = run.process.console;
  require_same_run(path,
                   {.recipe = run.recipe,
                    .registry = run.registry,
                    .train = run.train,
                    .world = run.plan.world,
                    .device = run.process.device.str()},
                   [&](const std::string& text) { console.warn(text); });
  opened.finished = is_finished(path);
  if (opened.finished) return opened;
  const auto warn = [&](const std::string& text) {
    opened.directory.log(text);
    console.warn(text);
  };
  const CheckpointStore store(path, run.plan.checkpoints);
  opened.from = store.newest(warn);
  require(opened.from || store.files().empty(), ErrorCode::io, "no checkpoint in ", path.string(),
          " is sound; start anew with another --out");
  if (opened.from)
    require_own_checkpoint(*opened.from, identity_of(run.recipe, run.train), run.registry, warn);
  else
    opened.directory.rewind({}, 0);  // it begins anew
  return opened;
}

}  // namespace

std::filesystem::path run_to_resume(const RunOptions& options, const std::string& name) {
  if (!options.resume) return {};
  return options.out.empty() ? RunDirectory::latest(name) : options.out;
}

Opened open_run(const Assembly& run, const RunOptions& options) {
  Ranks& ranks = *run.process.ranks;
  if (ranks.first()) {
    Opened opened = open_as_first(run, options);
    const nlohmann::json told = {{"path", opened.directory.path().string()},
                                 {"from", opened.from ? opened.from->file.string() : ""},
                                 {"finished", opened.finished}};
    const std::vector<uint8_t> bytes = nlohmann::json::to_cbor(told);  // paths may be no UTF-8
    ranks.broadcast_text(std::string(bytes.begin(), bytes.end()));
    return opened;
  }
  const auto told = nlohmann::json::from_cbor(ranks.broadcast_text(""));
  Opened opened{.directory = RunDirectory::unwritten(told["path"].get<std::string>()),
                .from = {},
                .finished = told["finished"]};
  if (const std::string file = told["from"]; !file.empty())
    opened.from = Checkpoint{file, read_checkpoint(file)};
  return opened;
}

RunDirectory open_for_results(const Assembly& run, ResultsGo where, const EvalOptions& options) {
  Ranks& ranks = *run.process.ranks;
  if (!ranks.first()) return RunDirectory::unwritten(ranks.broadcast_text(""));
  RunDirectory directory = where == ResultsGo::into_run
                               ? RunDirectory::reopen(options.run)
                               : RunDirectory::create(options.out, run.plan.name);
  ranks.broadcast_text(directory.path().string());
  return directory;
}

}  // namespace gh::host
