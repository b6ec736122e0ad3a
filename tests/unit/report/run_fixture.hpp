// Run directories for tests, written by hand as `ghhost run` writes them.
#pragma once

#include "support/temporary_directory.hpp"

#include <string>
#include <string_view>

namespace gh::test {

class RunFixture : public TemporaryDirectory {
 public:
  std::string read(const std::string& file) const;

  // A finished toy run: three moments, two evaluators, pictures, tables, ten epochs.
  void write_toy(const std::string& name) const;
  // One evaluation of the "circle" evaluator with metric "share".
  void write_result(int number, const std::string& moment, int epoch,
                    const std::string& share) const;
};

std::size_t count(std::string_view text, std::string_view part);

}  // namespace gh::test
