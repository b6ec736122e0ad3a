// ghhost sdk: where the installed tree has what plugin authors and their build tools need.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/installed_tree.hpp"
#include "run/standard_streams.hpp"

#include "gh/error.hpp"

#include <filesystem>

namespace gh::host {
namespace {

class Sdk final : public Command {
 public:
  Sdk()
      : Command({"sdk", "Print where the CMake package, the recipes and the pages of ghhost are",
                 "Examples:\n  ghhost run \"$(ghhost sdk --recipes-dir)/toy.toml\"\n"
                 "  cmake -S . -B build -Dghsdk_DIR=\"$(ghhost sdk --cmake-dir)\""}) {}

  void declare(Options& options) override {
    options.flag("--cmake-dir", cmake_, "Only that of the CMake package");
    options.flag("--recipes-dir", recipes_, "Only that of the recipes");
  }

  int run(const GlobalOptions&) override {
    const std::filesystem::path cmake = sdk_cmake_directory();
    const std::string recipes = shared_directory("recipes").string();
    if (cmake_) {
      require(!cmake.empty(), ErrorCode::missing_data, program_prefix().string(),
              " has no SDK; `make install` in the sources of ghhost installs one");
      print_result("{}\n", cmake.string());
    } else if (recipes_) {
      print_result("{}\n", recipes);
    } else {
      print_result("cmake    {}\nrecipes  {}\npages    {}\n",
                   cmake.empty() ? "not installed" : cmake.string(), recipes,
                   shared_directory("docs").string());
    }
    return kOk;
  }

 private:
  bool cmake_ = false, recipes_ = false;
};

}  // namespace

std::unique_ptr<Command> sdk_command() { return std::make_unique<Sdk>(); }

}  // namespace gh::host
