#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include "support/case_seed.hpp"

#include <ATen/CPUGeneratorImpl.h>

#include <errno.h>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>

namespace gh::test {

uint64_t environment_seed() {
  const char* given = std::getenv("GH_TEST_SEED");
  return given ? std::strtoull(given, nullptr, 0) : 0;
}

uint64_t case_seed(std::string_view case_name) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const unsigned char letter : case_name) hash = (hash ^ letter) * 0x100000001b3;
  return hash ^ environment_seed() * 0x9e3779b97f4a7c15;
}

namespace {

std::string escaped(std::string_view text, std::string_view letters) {
  std::string out;
  for (const char letter : text) {
    if (letters.find(letter) != std::string_view::npos) out += '\\';
    out += letter;
  }
  return out;
}

}  // namespace

std::string case_argument(std::string_view case_name) { return escaped(case_name, ",[]\\"); }

namespace {

at::CPUGeneratorImpl& generator() {
  return *at::check_generator<at::CPUGeneratorImpl>(at::detail::getDefaultCPUGenerator());
}

// Between double quotes of a shell.
std::string in_quotes(std::string_view text) { return '"' + escaped(text, "\"$`\\") + '"'; }

class SeedEachCase final : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    TestEventListenerBase::testCaseStarting(info);
    case_ = info.name;
    drawn_ = false;
  }

  // A case is entered once for every path through its sections, each time as a section of its own.
  void sectionStarting(const Catch::SectionInfo& info) override {
    TestEventListenerBase::sectionStarting(info);
    if (depth_++ > 0) return;
    const std::lock_guard<std::mutex> lock(generator().mutex_);
    generator().set_current_seed(case_seed(case_));
    fresh_ = generator().engine().data();
  }

  void sectionEnded(const Catch::SectionStats& stats) override {
    TestEventListenerBase::sectionEnded(stats);
    if (--depth_ > 0) return;
    const std::lock_guard<std::mutex> lock(generator().mutex_);
    const at::mt19937_data_pod now = generator().engine().data();
    drawn_ = drawn_ || now.left_ != fresh_.left_ || now.next_ != fresh_.next_;
  }

  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    TestEventListenerBase::testCaseEnded(stats);
    depth_ = 0;  // a signal leaves sections open
    if (stats.totals.assertions.failed > 0)
      Catch::cerr() << "\nseed " << case_seed(case_)
                    << "; repeat with: GH_TEST_SEED=" << environment_seed() << ' '
                    << program_invocation_name << ' ' << in_quotes(case_argument(case_))
                    << std::endl;
    const char* list = std::getenv("GH_TEST_DRAWS");
    if (drawn_ && list) std::ofstream(list, std::ios::app) << case_ << '\n';
  }

 private:
  std::string case_;
  int depth_ = 0;
  at::mt19937_data_pod fresh_{};
  bool drawn_ = false;
};

CATCH_REGISTER_LISTENER(SeedEachCase)

}  // namespace
}  // namespace gh::test
