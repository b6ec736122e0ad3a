// Any safetensors file as a checkpoint: once as it is, and once with the checksum it should have,
// so that what lies behind the checksum is reached.
#include "fuzz/target.hpp"
#include "run/checkpoint_store.hpp"

using namespace gh::host;
using namespace gh::test;

int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  static const Scratch scratch;
  std::filesystem::create_directory(scratch.path() / "checkpoints");
  const auto file = scratch.file("checkpoints/step-000000007.safetensors", data, size);
  is_read([&] { read_checkpoint(file); });
  TensorFile content;
  if (!is_read([&] { content = read_safetensors(file); })) return 0;
  content.metadata["sha256"] = checkpoint_checksum(content);
  write_safetensors(file, content);
  CheckpointStore store(scratch.path(), {.keep = 2, .best = 2});
  std::optional<Checkpoint> newest;
  is_read([&] { newest = store.newest([](const std::string&) {}); });
  if (!newest) return 0;
  is_read([&] { store.best(); });
  is_read([&] { store.go_on_from(*newest); });
  return 0;
}
