#include "session/opening.hpp"

#include "run/run_lock.hpp"
#include "session/assembly.hpp"
#include "session/run_identity.hpp"
#include "session/same_run.hpp"

#include "gh/error.hpp"

#include <nlohmann/json.hpp>

namespace gh::host {
namespace {

std::optional<ForkPoint> asked_fork(Assembly& run, const RunOptions& options) {
  if (options.fork.empty()) return {};
  return find_fork_point(run, std::filesystem::absolute(options.fork).lexically_normal());
}

Opened open_as_first(Assembly& run, const RunOptions& options) {
  const std::filesystem::path wanted = run_to_resume(options, run.plan.name);
  if (!options.resume || wanted.empty() || !RunLock::has_been_in(wanted)) {
    std::optional<ForkPoint> fork = asked_fork(run, options);  // first: it may be refused
    return {.directory = RunDirectory::create(options.out, run.plan.name), .fork = std::move(fork)};
  }
  Opened opened{.directory = RunDirectory::reopen(wanted)};
  const std::filesystem::path& path = opened.directory.path();
  Console& console = run.process.console;
  require_same_run(path, continuation_of(run),
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
  if (opened.from) {
    require_own_checkpoint(*opened.from, identity_of(run.recipe, run.train), run.registry, warn);
  } else {  // it begins anew
    opened.fork = asked_fork(run, options);
    opened.directory.rewind({}, 0);
  }
  return opened;
}

}  // namespace

std::filesystem::path run_to_resume(const RunOptions& options, const std::string& name) {
  if (!options.resume) return {};
  return options.out.empty() ? RunDirectory::latest(name) : options.out;
}

Opened open_run(Assembly& run, const RunOptions& options) {
  Ranks& ranks = *run.process.ranks;
  if (ranks.first()) {
    Opened opened = open_as_first(run, options);
    const nlohmann::json told = {{"path", opened.directory.path().string()},
                                 {"from", opened.from ? opened.from->file.string() : ""},
                                 {"fork", opened.fork ? opened.fork->run.string() : ""},
                                 {"epochs", opened.fork ? opened.fork->epochs : 0},
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
  if (const std::string other = told["fork"]; !other.empty())
    opened.fork = ForkPoint{.run = other, .epochs = told["epochs"]};
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
