// A command of ghhost. Each is a class in the file of its name: its members are what the user
// typed, its text is what --help shows. Knows no command line library: main.cpp has one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gh::host {

// Options every command has.
struct GlobalOptions {
  std::vector<std::string> plugins;  // --plugin
  std::string lock;                  // --locked: a file; empty: none
  bool pass_over = false;            // --pass-over
  std::vector<std::string> command;  // argv
};

// Who is told what a command takes. Values are written before the command runs, and stay as they
// are where nothing is given.
class Options {
 public:
  virtual ~Options() = default;
  // By position, in the order of the calls.
  virtual void required(const char* name, std::string& value, const char* doc) = 0;
  virtual void required(const char* name, std::vector<std::string>& values, const char* doc) = 0;
  virtual void rest(const char* name, std::vector<std::string>& values, const char* doc) = 0;
  // By name, as "--out". `type` is what --help calls the value: FILE, DIR.
  virtual void text(const char* name, const char* type, std::string& value, const char* doc) = 0;
  virtual void choice(const char* name, std::vector<std::string> choices, std::string& value,
                      const char* doc) = 0;
  virtual void number(const char* name, int64_t low, int64_t high, int64_t& value,
                      const char* doc) = 0;
  virtual void number(const char* name, double low, double high, double& value,
                      const char* doc) = 0;
  virtual void flag(const char* name, bool& value, const char* doc) = 0;
};

class Command {
 public:
  struct About {
    const char* name;  // "run"; "data check" is `check` of the group `data`
    const char* doc;
    const char* footer;  // examples, exit codes
  };

  explicit Command(const About& about) : about(about) {}
  virtual ~Command() = default;

  virtual void declare(Options& options) = 0;
  // Returns the exit code (cli/exit_codes.hpp); what it throws becomes a message and another.
  virtual int run(const GlobalOptions& global) = 0;

  const About about;
};

}  // namespace gh::host
