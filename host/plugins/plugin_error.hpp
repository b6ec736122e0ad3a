// Why a plugin was refused. Errors are values at the room's door (PluginError); inside, each step
// throws PluginRefused and the registry adds the file.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace gh::host {

// The steps of loading, in order; numbers are those of the load sequence.
enum class PluginErrorCode {
  not_found,           // 1 no such file
  unsafe_permissions,  // 2 others could change the file, or what leads to it
  unreadable,          // 3 cannot be opened or read
  not_elf,             // 4 a script, a text, an empty file
  truncated,           //   the file ends before its headers say
  wrong_architecture,  //   another machine or not a shared library
  no_note,             //   not built with gh_add_plugin()
  bad_note,            //   a note that gh_add_plugin() did not write
  sdk_major,           // 5 other SDK major
  sdk_minor,           //   newer SDK minor than the host
  fingerprint,         //   LibTorch, compiler, standard library, … differ
  cpu_level,           //   needs a newer processor
  foreign_library,     //   brings a LibTorch or OpenMP of its own
  duplicate,           //   the same build twice
  not_locked,          //   another build than the lock file has
  not_signed,          //   no signature by a trusted key
  load_failed,         // 6 dlopen said no (missing symbol, missing library)
  crashed,             //   died while loading: signal, exit()
  timed_out,           //   did not finish loading
  file_changed,        //   another file than the one that is loaded
  no_entry,            // 7 entry symbol missing
  entry_failed,        //   entry returned non-zero or threw
  null_manifest,
  bad_magic,
  bad_size,
  manifest_mismatch,  //   manifest and ELF note disagree
  bad_manifest,       // 8 missing strings, unknown kind, null create, …
  bad_schema,
  duplicate_id,   // 9 component id taken, within the plugin or by another
  create_failed,  // 10
  conformance,    //   `plugins check` found the component breaking its contract
};
std::string_view name_of(PluginErrorCode code);

struct PluginError {
  PluginErrorCode code;
  std::filesystem::path file;
  std::string message;  // names file, expected and found
};

class PluginRefused : public std::runtime_error {
 public:
  // `expected` and `found` are phrases: "expected <expected>, found <found>"; `hint` is a sentence
  // or a block, and may be empty.
  PluginRefused(PluginErrorCode code, std::string_view expected, std::string_view found,
                std::string_view hint = {});
  // A refusal that came from a child process; `text` is its what().
  PluginRefused(PluginErrorCode code, const std::string& text)
      : std::runtime_error(text), code_(code) {}
  PluginErrorCode code() const noexcept { return code_; }
  PluginError in(const std::filesystem::path& file) const;

 private:
  PluginErrorCode code_;
};

}  // namespace gh::host
