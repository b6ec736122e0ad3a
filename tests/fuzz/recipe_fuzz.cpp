// Any bytes as a recipe, followed by overrides, each after a zero byte: mistakes are reported, and
// what is accepted resolves to a recipe that resolves to itself.
#include "fuzz/target.hpp"
#include "unit/recipe/recipe_fixture.hpp"

using namespace gh::host;
using namespace gh::host::test;

int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  static const gh::test::Scratch scratch;
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < size; ++i)
    if (data[i] == 0)
      parts.emplace_back();
    else
      parts.back() += static_cast<char>(data[i]);
  const auto file = [&](const char* name, const std::string& text) {
    return scratch.file(name, reinterpret_cast<const uint8_t*>(text.data()), text.size());
  };
  const Loaded loaded = load_file(file("recipe.toml", parts[0]), {parts.begin() + 1, parts.end()});
  loaded.out.text();
  if (loaded.out.has_errors()) return 0;
  const std::string written = to_toml(loaded.recipe.resolved);
  const Loaded again = load_file(file("again.toml", written));
  if (!again.out.all().empty() || to_toml(again.recipe.resolved) != written) {
    std::fputs((written + summary(again.out)).c_str(), stderr);
    std::abort();
  }
  return 0;
}
