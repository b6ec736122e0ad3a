// ghhost plugins lock, plugins verify and plugins sign: which builds are meant, and whose they are.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "files/file_write.hpp"
#include "plugins/lock_file.hpp"
#include "plugins/signature.hpp"
#include "run/standard_streams.hpp"

#include <filesystem>

namespace gh::host {
namespace {

namespace fs = std::filesystem;

bool is_bundled(const PluginFile& file) { return file.origin == SearchPath::kBundled; }

// Says what is wrong with its signature, if anything.
bool is_signed(const TrustedKeys& keys, const PluginFile& file) {
  try {
    const FileContent content = read_checked(file.file);
    const std::string signer = keys.signer_of(content);
    print_result("{} {}  sha256 {}  signed by {}\n", file.note->name, file.note->version,
                 content.sha256, signer);
    return content.sha256 == file.sha256;
  } catch (const PluginRefused& e) {
    print_message("{}: {}\n", name_of(e.code()), e.in(file.file).message);
    return false;
  }
}

class PluginsLock final : public Command {
 public:
  PluginsLock()
      : Command({"plugins lock", "Write down which builds of plugins are meant",
                 "Examples:\n"
                 "  ghhost plugins lock\n"
                 "  ghhost run recipe.toml --locked\n"
                 "Locks what is usable on the search path, --plugin included, and runs none of it. "
                 "With --locked every\ncommand refuses to load anything else."}) {}

  void declare(Options& options) override {
    options.text("--out", "FILE", out_, "Where to write it");
    options.text("--keys", "FILE", keys_,
                 "Only where every plugin that did not come with ghhost is signed by one of these "
                 "keys");
  }

  int run(const GlobalOptions& global) override {
    const Registry registry(default_search_path(global.plugins));
    std::size_t count = 0;
    bool sound = true;
    for (const PluginFile& file : registry.files()) {
      if (file.error)
        print_message("left out: {}: {}\n", name_of(file.error->code), file.error->message);
      if (!file.usable()) continue;
      ++count;
      if (!keys_.empty() && !is_bundled(file)) sound &= is_signed(TrustedKeys(keys_), file);
    }
    if (!sound) return kBadRecipe;
    write_file_atomically(fs::absolute(out_), lock_text(registry.files()));
    print_result("{}: {} plugins\n", out_, count);
    return kOk;
  }

 private:
  std::string out_ = "ghhost.lock", keys_;
};

class PluginsVerify final : public Command {
 public:
  PluginsVerify()
      : Command({"plugins verify", "Are plugins signed by somebody you trust? Runs none of them",
                 "Examples:\n"
                 "  ghhost plugins verify\n"
                 "  ghhost plugins verify my_method.so --keys lab.pem\n"
                 "A signature is FILE.sig, made by `ghhost plugins sign` or by\n"
                 "  openssl pkeyutl -sign -rawin -inkey PRIVATE -in FILE -out FILE.sig\n"
                 "Keys are public ones in PEM, one after the other, each below a line that says "
                 "whose it is:\n  openssl pkey -in PRIVATE -pubout\n"
                 "Exit codes: 0 all are signed, 78 one is not."}) {}

  void declare(Options& options) override {
    options.rest("FILE", files_,
                 "Plugins; without: all on the search path that did not come with ghhost");
    options.text("--keys", "FILE", keys_,
                 "Whom you trust; default: ~/.config/ghhost/trusted-keys.pem");
  }

  int run(const GlobalOptions& global) override {
    const TrustedKeys keys(keys_.empty() ? default_key_file() : fs::path(keys_));
    std::vector<std::string> named = global.plugins;
    named.insert(named.end(), files_.begin(), files_.end());
    bool sound = true, any = false;
    const Registry registry(default_search_path(named));
    for (const PluginFile& file : registry.files()) {
      if (files_.empty() ? is_bundled(file) : !file.named) continue;
      any = true;
      if (file.note) {
        sound &= is_signed(keys, file);
      } else {
        print_message("{}: {}\n", name_of(file.error->code), file.error->message);
        sound = false;
      }
    }
    if (!any) print_message("There is no plugin that did not come with ghhost.\n");
    return sound ? kOk : kBadRecipe;
  }

 private:
  std::vector<std::string> files_;
  std::string keys_;
};

class PluginsSign final : public Command {
 public:
  PluginsSign()
      : Command({"plugins sign", "Write FILE.sig, by which others see that a plugin is yours",
                 "Example:\n"
                 "  openssl genpkey -algorithm ed25519 -out private.pem\n"
                 "  ghhost plugins sign build/my_method.so --key private.pem\n"
                 "Others need `openssl pkey -in private.pem -pubout`: ghhost plugins verify."}) {}

  void declare(Options& options) override {
    options.required("FILE", file_, "Plugin");
    options.text("--key", "FILE", key_, "Private Ed25519 key in PEM");
  }

  int run(const GlobalOptions&) override {
    if (key_.empty()) {
      print_message("ghhost: with which key? Write --key private.pem\n");
      return kUsage;
    }
    try {
      const FileContent content = read_checked(file_);
      read_plugin_note(content.bytes);
      write_file_atomically(signature_file(content.file), sign(content, key_));
      print_result("{}\n", signature_file(content.file).string());
      return kOk;
    } catch (const PluginRefused& e) {
      print_message("{}: {}\n", name_of(e.code()), e.in(file_).message);
      return kBadRecipe;
    }
  }

 private:
  std::string file_, key_;
};

}  // namespace

std::unique_ptr<Command> plugins_lock_command() { return std::make_unique<PluginsLock>(); }
std::unique_ptr<Command> plugins_verify_command() { return std::make_unique<PluginsVerify>(); }
std::unique_ptr<Command> plugins_sign_command() { return std::make_unique<PluginsSign>(); }

}  // namespace gh::host
