// Run directories for tests, written by hand as `ghhost run` writes them.
#pragma once

#include "support/temporary_directory.hpp"

#include <array>
#include <string>
#include <string_view>

namespace gh::test {

class RunFixture : public TemporaryDirectory {
 public:
  std::string read(const std::string& file) const;

  // A finished toy run: three moments, two evaluators, pictures, tables, ten epochs.
  void write_toy(const std::string& name) const;
  // One evaluation of the "circle" evaluator with metric "share".
  void write_result(
      int number, const std::string& moment, int epoch,
      const std::string& share) const;  // One evaluation of a classifying evaluator. Values of the
                                        // columns many, medium, few, std and avg
  // are texts, "null" for none; `params` and `splits` are JSON objects.
  struct Classified {
    std::string evaluator = "knn", slot = "eval.0", moment = "end";
    int epoch = 10;
    std::array<std::string, 5> values = {"60.125", "50", "40", "10.06", "50.04"};
    std::string params = R"({"split": "test", "k": 20})", splits = R"({"test": "sha256:1"})";
    int classes = 3;
  };
  void write_classified(int number, const Classified& result) const;
};

std::size_t count(std::string_view text, std::string_view part);

}  // namespace gh::test
