// ghhost plugins search and plugins install: plugins that somebody offers in an index.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "fetch/fetch.hpp"
#include "files/file_write.hpp"
#include "plugins/plugin_index.hpp"
#include "plugins/registry.hpp"
#include "plugins/signature.hpp"
#include "run/standard_streams.hpp"
#include "text/json.hpp"

#include "gh/digest.hpp"
#include "gh/error.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>

namespace gh::host {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestIndex = std::size_t{16} << 20, kLargestPlugin = std::size_t{1} << 30,
                      kLargestSignature = 1024;

// Where the index is, which there is no default for: whose plugins to trust is the user's choice.
class IndexCommand : public Command {
 public:
  using Command::Command;

 protected:
  void declare_index(Options& options) {
    options.text("--index", "PATH|URL", index_,
                 "Index of plugins; default: what GHHOST_PLUGIN_INDEX says");
  }
  std::vector<OfferedPlugin> offered() {
    if (const char* usual = std::getenv("GHHOST_PLUGIN_INDEX"); index_.empty() && usual != nullptr)
      index_ = usual;
    require(!index_.empty(), ErrorCode::invalid_param,
            "which index? Write --index PATH|URL, or set GHHOST_PLUGIN_INDEX");
    return read_index(fetch(index_, kLargestIndex), index_);
  }

  std::string index_;
};

class PluginsSearch final : public IndexCommand {
 public:
  PluginsSearch()
      : IndexCommand({"plugins search", "What an index offers",
                      "Examples:\n"
                      "  ghhost plugins search --index https://example.org/ghhost/index.json\n"
                      "  ghhost plugins search moco --index ./index.json"}) {}

  void declare(Options& options) override {
    options.rest("WORD", words_, "Only plugins whose name or description has all of these");
    declare_index(options);
    options.flag("--json", json_, "Print JSON");
  }

  int run(const GlobalOptions&) override {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const OfferedPlugin& plugin : offered()) {
      if (!is_asked_for(plugin) || plugin.builds.empty()) continue;
      const auto fitting = std::ranges::find_if(plugin.builds, fits_this_host);
      const bool fits = fitting != plugin.builds.end();
      const std::string& version = (fits ? *fitting : plugin.builds.front()).version;
      if (json_)
        out.push_back({{"name", plugin.name},
                       {"version", version},
                       {"license", plugin.license},
                       {"doc", plugin.doc},
                       {"fits", fits}});
      else
        print_result("{} {}  ({})  {}{}\n", plugin.name, version, plugin.license, plugin.doc,
                     fits ? "" : "; no build for this ghhost");
    }
    if (json_) print_result("{}\n", json_text(out, 2));
    return kOk;
  }

 private:
  bool is_asked_for(const OfferedPlugin& plugin) const {
    return std::ranges::all_of(words_, [&](const std::string& word) {
      return (plugin.name + '\n' + plugin.doc).find(word) != std::string::npos;
    });
  }

  std::vector<std::string> words_;
  bool json_ = false;
};

class PluginsInstall final : public IndexCommand {
 public:
  PluginsInstall()
      : IndexCommand(
            {"plugins install", "Get a plugin from an index; runs nothing of it",
             "Examples:\n"
             "  ghhost plugins install my_method --index https://example.org/ghhost/index.json\n"
             "  ghhost plugins install my_method@1.2.0 --index ./index.json --keys lab.pem\n"
             "The newest build that fits this ghhost, unless a version is named. What comes must "
             "have the SHA-256 that\nthe index says, and be the plugin that it says."}) {}

  void declare(Options& options) override {
    options.required("NAME", name_, "Plugin, or NAME@VERSION");
    declare_index(options);
    options.text("--keys", "FILE", keys_,
                 "Only where FILE.sig beside it is a signature by one of these keys");
    options.text("--to", "DIR", to_, "Where to put it; default: the user's plugin directory");
  }

  int run(const GlobalOptions&) override {
    const std::size_t at = std::min(name_.find('@'), name_.size());
    const std::string name = name_.substr(0, at);
    const std::vector<OfferedPlugin> plugins = offered();
    const auto plugin = std::ranges::find(plugins, name, &OfferedPlugin::name);
    require(plugin != plugins.end(), ErrorCode::invalid_param, index_, " has no plugin ", name,
            "; `ghhost plugins search` lists what it has");
    const OfferedBuild& build = choose_build(*plugin, name_.substr(std::min(at + 1, name_.size())));
    const std::string url = resolve_address(index_, build.url);
    print_message("{} {} ({}) from {}\n", name, build.version, plugin->license, url);
    try {
      const std::string bytes = fetch_build(name, build, url);
      const std::string signature = signature_of(bytes, url);
      print_result("{}\n", put(name, bytes, signature).string());
      return kOk;
    } catch (const PluginRefused& e) {
      print_message("{}: {}: {}\n", name_of(e.code()), url, e.what());
      return kBadRecipe;
    }
  }

 private:
  static std::string fetch_build(const std::string& name, const OfferedBuild& build,
                                 const std::string& url) {
    std::string bytes = fetch(url, kLargestPlugin);
    const std::string found = Digest().add(bytes).hex();
    require(found == build.sha256, ErrorCode::invalid_param, url, ": expected SHA-256 ",
            build.sha256, " as the index says, found ", found);
    const PluginNote note = read_plugin_note(std::as_bytes(std::span(bytes)));
    require(note.name == name && note.version == build.version, ErrorCode::invalid_param, url,
            ": expected ", name, " ", build.version, ", found ", note.name, " ", note.version);
    check_note(note);
    return bytes;
  }

  // Empty where none was asked for.
  std::string signature_of(const std::string& bytes, const std::string& url) const {
    if (keys_.empty()) return "";
    std::string signature = fetch(url + ".sig", kLargestSignature);
    print_message("signed by {}\n", TrustedKeys(keys_).signer_of(std::as_bytes(std::span(bytes)),
                                                                 signature, url + ".sig"));
    return signature;
  }

  fs::path put(const std::string& name, const std::string& bytes,
               const std::string& signature) const {
    const fs::path directory = fs::absolute(to_.empty() ? user_plugins() : fs::path(to_));
    require(!directory.empty(), ErrorCode::invalid_param,
            "where to? There is no home directory: write --to DIR");
    std::error_code error;
    fs::create_directories(directory, error);
    require(!error, ErrorCode::io, "cannot create ", directory.string(), ": ", error.message());
    const fs::path file = directory / (name + ".so");
    // Never beside a signature of other bytes.
    fs::remove(signature_file(file), error);
    write_file_atomically(file, bytes);
    if (!signature.empty()) write_file_atomically(signature_file(file), signature);
    return file;
  }

  std::string name_, keys_, to_;
};

}  // namespace

std::unique_ptr<Command> plugins_search_command() { return std::make_unique<PluginsSearch>(); }
std::unique_ptr<Command> plugins_install_command() { return std::make_unique<PluginsInstall>(); }

}  // namespace gh::host
