// Run directories for tests, written by hand as `ghhost run` writes them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace gh::test {

// A fresh directory that goes away with the object.
class RunFixture {
 public:
  RunFixture();
  ~RunFixture();
  RunFixture(const RunFixture&) = delete;
  RunFixture& operator=(const RunFixture&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& file, std::string_view text) const;
  std::string read(const std::string& file) const;

  // A finished toy run: three moments, two evaluators, pictures, tables, ten epochs.
  void write_toy(const std::string& name) const;
  // One evaluation of the "circle" evaluator with metric "share".
  void write_result(int number, const std::string& moment, int epoch,
                    const std::string& share) const;

 private:
  std::filesystem::path path_;
};

std::size_t count(std::string_view text, std::string_view part);

}  // namespace gh::test
