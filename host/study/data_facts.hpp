// What a study has to know of its data, found out once: whoever plans it again, or has a hundred
// arms on the same data, does not read them again.
#pragma once

#include "recipe/recipe.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace gh::host {

struct DataFact {
  std::string fingerprint;  // of all splits
  int64_t samples = 0;      // that are trained on, an epoch
};
// Reads the data of a recipe. Throws gh::Error, missing_data where they are not there.
using ReadData = std::function<DataFact(const Recipe&)>;

// DIR/data.json: facts by the recipe's table [data], beside a stamp of the files that it names
// (names, sizes, times of change; of directories, of what is in them, up to a few thousand). Data
// are read again when the stamp is another. A file outside of [data] that a recipe names, such as
// weights, counts by its content in the same way.
class DataFacts {
 public:
  // Reads what an earlier plan found; a damaged file is as good as none.
  DataFacts(std::filesystem::path file, ReadData read);
  ~DataFacts();

  // Throws as `read`, and missing_data where a file outside of [data] is not there. What was thrown
  // once for a table is thrown again without reading.
  DataFact of(const Recipe& recipe);

  // Writes what has been asked for, if anything is new.
  void save() const;

 private:
  std::string file_fingerprint(const std::string& path);

  std::filesystem::path file_;
  ReadData read_;
  struct Known;
  std::unique_ptr<Known> known_;
};

}  // namespace gh::host
