#include "cli/guarded.hpp"

#include "cli/exit_codes.hpp"
#include "plan/refusals.hpp"
#include "run/standard_streams.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <new>

namespace gh::host {
namespace {

int report(std::string_view message, int code) {
  print_message("ghhost: {}\n", message);
  return code;
}

}  // namespace

int guarded(const std::function<int()>& work) {
  try {
    return work();
  } catch (const RecipeRefused& refused) {
    print_message("{}", refused.diagnostics().text());
    return kBadRecipe;
  } catch (const Error& error) {
    return report(error.what(), exit_code_for(error.code()));
  } catch (const std::filesystem::filesystem_error& error) {
    return report(fmt::format("{}: {}", error.path1().string(), error.code().message()), kIo);
  } catch (const std::bad_alloc&) {
    return report("out of memory", kRunFailed);
  } catch (const std::exception& error) {
    return report(error.what(), kRunFailed);
  } catch (...) {
    return report("an exception of unknown type", kInternal);
  }
}

int checked_output(int code) {
  const std::string lost = finish_output();
  if (lost.empty()) return code;
  const int reported = report("cannot write to standard output: " + lost, kIo);
  return code == kOk ? reported : code;
}

}  // namespace gh::host
