// ghhost new-plugin KIND NAME: a folder that builds against the installed SDK and runs as it is.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/installed_tree.hpp"
#include "files/file_write.hpp"
#include "recipe/recipe.hpp"
#include "run/environment.hpp"
#include "run/standard_streams.hpp"

#include "gh/error.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace gh::host {
namespace fs = std::filesystem;
namespace {

bool is_plugin_name(const std::string& name) {
  const auto small = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto fits = [&](char c) { return small(c) || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && small(name.front()) && std::all_of(name.begin(), name.end(), fits);
}

std::string class_name(const std::string& name) {
  std::string out;
  bool upper = true;
  for (const char c : name) {
    if (c == '_') {
      upper = true;
      continue;
    }
    out += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return out;
}

std::string read_text(const fs::path& file) {
  std::ifstream in(file);
  require(in.good(), ErrorCode::io, "cannot read ", file.string());
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

class NewPlugin final : public Command {
 public:
  NewPlugin()
      : Command({"new-plugin", "Write a plugin that builds and runs as it is",
                 "Examples:\n  ghhost new-plugin ssl my_method\n  ghhost new-plugin ssl my_method "
                 "--wheel"}) {}

  void declare(Options& options) override {
    options.required("KIND", kind_, "ssl, structure, allocator, dataset, backbone or evaluator");
    options.required("NAME", name_, "Name and id: small letters, digits and _");
    options.text("--into", "DIR", into_, "Folder to create; default: NAME");
    options.flag("--wheel", wheel_, "Also what pip needs to make a package of it");
  }

  int run(const GlobalOptions&) override {
    gh_kind kind;
    if (!kind_from_name(kind_, kind)) {
      print_message(
          "ghhost: '{}' is no kind of plugin; the kinds are ssl, structure, allocator, "
          "dataset, backbone and evaluator\n",
          kind_);
      return kUsage;
    }
    if (!is_plugin_name(name_)) {
      print_message(
          "ghhost: '{}' cannot be a plugin name; use small letters, digits and _, beginning "
          "with a letter\n",
          name_);
      return kUsage;
    }
    const fs::path source = shared_directory("templates");
    require(fs::is_directory(source / kind_), ErrorCode::missing_data,
            "templates are not installed beside this program: ", source.string());
    const fs::path target = fs::absolute(into_.empty() ? name_ : into_);
    require(!fs::exists(target), ErrorCode::io, target.string(),
            " exists; remove it or choose another place with --into");
    fs::create_directories(target);
    copy_filled(source, target);
    copy_filled(source / kind_, target);
    if (wheel_) copy_filled(source / "wheel", target);
    fs::path shown = fs::proximate(target);
    if (shown.string().starts_with("..")) shown = target;
    print_next(target, shown);
    return kOk;
  }

 private:
  void print_next(const fs::path& target, const fs::path& shown) const {
    fs::path prefix = program_prefix();
    print_result("{}\nNext:\n", target.string());
    if (sdk_cmake_directory().empty()) {
      print_result("  # {} has no SDK: install from the sources of ghhost first\n",
                   prefix.string());
      print_result("  export PREFIX=$HOME/.local; make install PREFIX=$PREFIX\n");
      prefix = "$PREFIX";
    }
    print_result(
        "  cmake -S {0} -B {0}/build -DCMAKE_PREFIX_PATH={2} && cmake --build {0}/build\n"
        "  ghhost plugins check {0}/build/{1}.so\n"
        "  ghhost --plugin {0}/build/{1}.so run {0}/recipe.toml\n",
        shown.string(), name_, prefix.string());
    if (wheel_)
      print_result(
          "  # the package, for environments with ghhost in them\n"
          "  pip install scikit-build-core && pip wheel --no-build-isolation --no-deps {}\n",
          shown.is_absolute() ? shown.string() : "./" + shown.string());
  }

  std::string fill(std::string text) const {
    const auto replace = [&text](std::string_view placeholder, const std::string& value) {
      for (auto at = text.find(placeholder); at != std::string::npos;
           at = text.find(placeholder, at + value.size()))
        text.replace(at, placeholder.size(), value);
    };
    replace("@KIND@", kind_);
    replace("@NAME@", name_);
    replace("@CLASS@", class_name(name_));
    const nlohmann::ordered_json versions = describe_environment();
    replace("@GHHOST@", versions["ghhost"].get<std::string>());
    replace("@TORCH@", versions["torch"].get<std::string>());
    return text;
  }

  // Every file of `from`, filled in, under its filled-in name; folders below it are left alone.
  void copy_filled(const fs::path& from, const fs::path& to) const {
    for (const fs::directory_entry& file : fs::directory_iterator(from))
      if (file.is_regular_file())
        write_file_atomically(to / fill(file.path().filename().string()),
                              fill(read_text(file.path())));
  }

  std::string kind_, name_, into_;
  bool wheel_ = false;
};

}  // namespace

std::unique_ptr<Command> new_plugin_command() { return std::make_unique<NewPlugin>(); }

}  // namespace gh::host
