#include "cli/guarded.hpp"

#include "cli/exit_codes.hpp"
#include "train/components.hpp"

#include <fmt/format.h>

#include <new>

namespace gh::host {
namespace {

int report(std::string_view message, int code) {
  fmt::print(stderr, "ghhost: {}\n", message);
  return code;
}

}  // namespace

int guarded(const std::function<int()>& work) {
  try {
    return work();
  } catch (const RecipeRefused& refused) {
    fmt::print(stderr, "{}", refused.diagnostics().text());
    return kBadRecipe;
  } catch (const Error& error) {
    return report(error.what(), exit_code_for(error.code()));
  } catch (const std::bad_alloc&) {
    return report("out of memory", kRunFailed);
  } catch (const std::exception& error) {
    return report(error.what(), kRunFailed);
  }
}

}  // namespace gh::host
