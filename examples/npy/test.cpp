// Files as numpy.save writes them come back as samples and targets; a damaged one is an io error.
#include "gh/testing.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace {

template <class T>
std::string npy(const char* descr, const char* shape, std::initializer_list<T> values) {
  std::string header =
      std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(117, ' ');
  header += '\n';
  std::string file = std::string("\x93NUMPY\x01\x00", 8) + char(header.size()) + '\0' + header;
  for (const T value : values) file.append(reinterpret_cast<const char*>(&value), sizeof value);
  return file;
}

struct Row final : gh::SampleSink {
  std::vector<float> values;
  void vector(std::span<const float> given) override { values.assign(given.begin(), given.end()); }
  void pixels(std::span<const uint8_t>, int64_t, int64_t, int64_t) override {}
  void encoded(std::span<const uint8_t>, std::string_view) override {}
};

}  // namespace

int main(int, char** arguments) {
  const std::filesystem::path dir = std::filesystem::path(arguments[1]).parent_path();
  const auto write = [&](const char* name, const std::string& bytes) {
    std::ofstream(dir / name, std::ios::binary) << bytes;
    return (dir / name).string();
  };
  const std::string x = write("x.npy", npy<float>("<f4", "(2, 3)", {1, 2, 3, 4, 5, 6}));
  const std::string y = write("y.npy", npy<int64_t>("<i8", "(2,)", {7, 8}));
  gh::testing::Plugins plugins(arguments[1]);
  const auto open = [&](const std::string& file) {
    return plugins
        .make<gh::Dataset>("npy_vectors", "train = '" + file + "'\ntrain_labels = '" + y + "'")
        ->open("train", 0);
  };
  const auto split = open(x);
  Row row;
  split->read(1, row);
  const bool read = row.values == std::vector<float>{4, 5, 6} && split->size() == 2 &&
                    split->targets()[0].item<int64_t>() == 7;
  bool refused = false;
  try {
    open(write("cut.npy", npy<float>("<f4", "(2, 3)", {1, 2, 3})));
  } catch (const gh::Error& error) {
    refused = error.code() == gh::ErrorCode::io;
  }
  std::printf("read %d, refused %d\n", read, refused);
  return read && refused ? 0 : 1;
}
