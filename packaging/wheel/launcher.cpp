// What pip puts on the PATH: finds the ghhost package of this environment and the torch package
// beside it, and becomes the program, which has LibTorch on its path relative to itself. Where they
// do not fit, a sentence; the dynamic loader would have an unspecific one.
#include <glob.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr int kMissingInput = 66;  // as host/cli/exit_codes.hpp

// Directories of packages that belong to a directory of scripts, the newest Python last.
std::vector<fs::path> package_directories(const fs::path& scripts) {
  glob_t found{};
  int flags = 0;
  for (const char* below :
       {"../", "../lib*/python3.[0-9]/*-packages/", "../lib*/python3.[0-9][0-9]/*-packages/"}) {
    glob((scripts / below / "ghhost/bin/ghhost").c_str(), flags, nullptr, &found);
    flags = GLOB_APPEND;
  }
  std::vector<fs::path> out;
  for (std::size_t i = 0; i < found.gl_pathc; ++i)
    out.push_back(fs::weakly_canonical(fs::path(found.gl_pathv[i]) / "../../.."));
  globfree(&found);
  return out;
}

// What stands between the first quotes of the line of torch/version.py that begins with `name`.
std::string told(const fs::path& torch, const std::string& name) {
  std::ifstream file(torch / "version.py");
  for (std::string line; std::getline(file, line);) {
    const std::size_t begin = line.find('\'');
    if (line.starts_with(name) && begin != std::string::npos)
      return line.substr(begin + 1, line.find('\'', begin + 1) - begin - 1);
  }
  return {};
}

std::string device_of(const fs::path& torch) {
  if (!fs::exists(torch / "lib/libtorch_cuda.so")) return "cpu";
  const std::string cuda = told(torch, "cuda");
  return "cuda" + cuda.substr(0, cuda.find('.'));
}

// Empty where `packages` has the torch that ghhost was built with.
std::string problem(const fs::path& packages) {
  const fs::path torch = packages / "torch";
  const std::string needed = std::string("torch ") + GH_TORCH_VERSION + " (" GH_TORCH_DEVICE ")";
  // Both have pip replace a torch of the same version for another device, too.
  const std::string remedy =
      std::string("\nIn the same environment: pip install ") +
      (std::string(GH_TORCH_DEVICE) == "cpu"
           ? "torch==" GH_TORCH_VERSION "+cpu --index-url https://download.pytorch.org/whl/cpu"
           : "--force-reinstall torch==" GH_TORCH_VERSION);
  if (!fs::exists(torch / "lib/libtorch.so"))
    return "needs " + needed + ", and there is no torch in " + packages.string() + "." + remedy;
  const std::string full = told(torch, "__version__"), device = device_of(torch);
  const std::string version = full.substr(0, full.find('+'));
  if (version != GH_TORCH_VERSION || device != GH_TORCH_DEVICE)
    return "was built with " + needed + ", and the torch in " + packages.string() + " is " +
           version + " (" + device + ")." + remedy;
  return {};
}

int say(const std::string& text) {
  std::fprintf(stderr, "ghhost: %s\n", text.c_str());
  return kMissingInput;
}

}  // namespace

int main(int, char** argv) {
  const fs::path scripts = fs::read_symlink("/proc/self/exe").parent_path();
  std::string complaint = "no package ghhost belongs to " + scripts.string() +
                          "; install it again: pip install --force-reinstall --no-deps ghhost";
  for (const fs::path& packages : package_directories(scripts)) {
    complaint = problem(packages);
    if (!complaint.empty()) continue;
    const fs::path program = packages / "ghhost/bin/ghhost";
    execv(program.c_str(), argv);
    complaint = "cannot start " + program.string();
  }
  return say(complaint);
}
