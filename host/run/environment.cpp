#include "run/environment.hpp"

#include "gh/version.hpp"

#include <sys/utsname.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

namespace gh::host {
namespace {

std::map<std::string, std::string> key_values(const std::string& text) {
  std::map<std::string, std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (const auto equals = line.find('='); equals != std::string::npos)
      out[line.substr(0, equals)] = line.substr(equals + 1);
  return out;
}

// The value of the first line "key : value" of a file such as /proc/cpuinfo, or "unknown".
std::string first_value(const char* file, std::string_view key, char separator) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const auto at = line.find(separator);
    if (at == std::string::npos) continue;
    std::string value = line.substr(at + 1);
    std::erase(value, '"');
    value.erase(0, value.find_first_not_of(" \t"));
    return value;
  }
  return "unknown";
}

// How compute threads wait for others.
std::string waiting_policy() {
  for (const char* name : {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"})
    if (const char* value = std::getenv(name)) return std::string(name) + "=" + value;
  return "spins; sleeps where cores are short";
}

}  // namespace

nlohmann::ordered_json describe_environment() {
  auto built = key_values(sdk_fingerprint());
  utsname system{};
  ::uname(&system);
  return {{"ghhost", GHHOST_VERSION},
          {"sdk", built["sdk"]},
          {"torch", built["torch"]},
          {"device", built["device"]},
          {"compiler", built["compiler"] + " " + built["compiler_version"]},
          {"cpu", first_value("/proc/cpuinfo", "model name", ':')},
          {"cores", std::thread::hardware_concurrency()},
          {"waiting", waiting_policy()},
          {"os", first_value("/etc/os-release", "PRETTY_NAME", '=')},
          {"kernel", std::string(system.sysname) + " " + system.release + " " + system.machine}};
}

}  // namespace gh::host
