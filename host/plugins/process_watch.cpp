#include "plugins/process_watch.hpp"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/DefaultDtype.h>
#include <fmt/format.h>

#include <cfenv>
#include <clocale>
#include <filesystem>

namespace gh::host {
namespace {

namespace fs = std::filesystem;

std::size_t entries_of(const char* directory) {
  std::error_code error;
  std::size_t count = 0;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    ++count;
  return count;
}

}  // namespace

ProcessWatch::Modes ProcessWatch::modes_now() {
  std::error_code error;
  return {at::GradMode::is_enabled(),
          at::get_num_threads(),
          std::fegetround(),
          std::string(c10::get_default_dtype().name()),
          fs::current_path(error).string(),
          std::setlocale(LC_ALL, nullptr)};
}

ProcessWatch::ProcessWatch()
    : modes_(modes_now()),
      threads_(entries_of("/proc/self/task")),
      files_(entries_of("/proc/self/fd")) {}

std::vector<std::string> ProcessWatch::changed() {
  const Modes now = modes_now();
  std::vector<std::string> out;
  if (now.gradients != modes_.gradients) {
    out.push_back(fmt::format("gradients are {} for all", now.gradients ? "on" : "off"));
    at::GradMode::set_enabled(modes_.gradients);
  }
  if (now.threads != modes_.threads) {
    out.push_back(fmt::format("LibTorch has {} threads", now.threads));
    at::set_num_threads(modes_.threads);
  }
  if (now.rounding != modes_.rounding) {
    out.emplace_back("numbers are rounded otherwise");
    std::fesetround(modes_.rounding);
  }
  if (now.dtype != modes_.dtype) {
    out.push_back(fmt::format("tensors are {} by default", now.dtype));
    c10::set_default_dtype(caffe2::TypeMeta::Make<float>());
  }
  if (now.directory != modes_.directory) {
    out.push_back(fmt::format("the working directory is {}", now.directory));
    std::error_code error;
    fs::current_path(modes_.directory, error);
  }
  if (now.locale != modes_.locale) {
    out.push_back(fmt::format("the locale is {}", now.locale));
    std::setlocale(LC_ALL, modes_.locale.c_str());
  }
  return out;
}

std::vector<std::string> ProcessWatch::left_behind() const {
  std::vector<std::string> out;
  if (const std::size_t now = entries_of("/proc/self/task"); now > threads_)
    out.push_back(fmt::format("{} thread(s) that still run", now - threads_));
  if (const std::size_t now = entries_of("/proc/self/fd"); now > files_)
    out.push_back(fmt::format("{} open file(s)", now - files_));
  return out;
}

}  // namespace gh::host
