// Trains for a while, then leaves in a way that its parameter names.
#include "gh/component.hpp"
#include "gh/two_view.hpp"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace {

int fall(int depth) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(depth);
  if (depth < 0) return 0;  // the compiler warns where it sees no end
  return fall(depth + 1) + frame[0];
}

void leave(std::string_view how) {
  static const std::map<std::string_view, std::function<void()>> kWays = {
      {"exit", [] { std::exit(0); }},
      {"exit_75", [] { std::exit(75); }},
      {"quick_exit", [] { std::quick_exit(0); }},
      {"_exit", [] { ::_exit(0); }},
      {"_Exit", [] { std::_Exit(0); }},
      {"abort", [] { std::abort(); }},
      {"terminate", [] { std::terminate(); }},
      {"pthread_exit", [] { ::pthread_exit(nullptr); }},
      {"segfault", [] { std::raise(SIGSEGV); }},
      {"stack_overflow", [] { fall(0); }},
      {"hang_up", [] { std::raise(SIGHUP); }},
      {"kill", [] { std::raise(SIGKILL); }},
      // A child of its own may end as it likes.
      {"child",
       [] {
         if (const pid_t child = ::fork(); child == 0) ::_exit(0);
       }},
  };
  kWays.at(how)();
}

class Leaver final : public gh::TwoViewMethod {
 public:
  explicit Leaver(const gh::Params& params)
      : TwoViewMethod(params), how_(params.text("how")), after_(params.integer("after")) {}
  at::Tensor losses(const at::Tensor& z1, const at::Tensor& z2) override {
    if (++calls_ == after_) leave(how_);
    return (z1 - z2).pow(2).sum(1);
  }

 private:
  std::string how_;
  int64_t after_;
  int64_t calls_ = 0;
};

constexpr gh::Param kParams[] = {
    GH_PROJECTOR_PARAMS, gh::text("how", nullptr, "way out"),
    gh::integer("after", "20", "steps before it").at_least(1).at_most(1000000)};
constexpr gh::Component kComponents[] = {
    gh::describe<Leaver>("zoo_leaver", "ends the process", kParams),
};

}  // namespace

GH_PLUGIN(kComponents, .license = "MIT", .doc = "Leaves")
