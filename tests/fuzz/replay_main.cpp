// Runs a fuzz target without libFuzzer.
//
//   x_fuzz FILE…                     each file once
//   x_fuzz --corpus DIR --mutations N    all files of DIR, what the target makes itself, and N
//                                        damaged variants of them; the same ones every time
//   x_fuzz --write DIR               writes what the target makes itself, for libFuzzer
#include "fuzz/target.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

using namespace gh::test;

namespace gh::test {
__attribute__((weak)) std::vector<Bytes> made_inputs() { return {}; }
}  // namespace gh::test

namespace {

namespace fs = std::filesystem;

const char* program = "";
const Bytes* current = nullptr;

// Keeps what the target died of, for a debugger and the corpus.
void keep_input(int signal) {
  std::signal(signal, SIG_DFL);
  if (!current) std::raise(signal);
  const std::string name = fs::path(program).filename().string() + ".input";
  std::ofstream(name, std::ios::binary)
      .write(reinterpret_cast<const char*>(current->data()),
             static_cast<std::streamsize>(current->size()));
  std::fprintf(stderr, "repeat with: %s %s\n", program, fs::absolute(name).c_str());
  std::raise(signal);
}

void run(const Bytes& input) {
  current = &input;
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

Bytes content_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<Bytes> corpus(const std::string& directory) {
  std::vector<fs::path> files;
  if (!directory.empty())
    for (const fs::directory_entry& entry : fs::directory_iterator(directory))
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Bytes> inputs = made_inputs();
  for (const fs::path& file : files) inputs.push_back(content_of(file));
  return inputs;
}

std::ptrdiff_t place(NumberSource& numbers, const Bytes& file) {
  return numbers.below(static_cast<int>(file.size()));
}

// The two bytes after a JPEG marker, or one of the first bytes of a PNG's chunk.
void edit_picture_length(Bytes& file, NumberSource& numbers) {
  const auto begin = file.begin() + place(numbers, file);
  const auto marker = std::find(begin, file.end(), file[0] == 0xff ? 0xff : 'I');
  const auto offset = 2 + numbers.below(2);
  if (file.end() - marker <= offset) return;
  marker[file[0] == 0xff ? offset : -offset] = static_cast<uint8_t>(numbers.next());
}

// A number of one to eight bytes becomes one near the ends of its range, or of the file's.
void edit_number(Bytes& file, NumberSource& numbers) {
  const std::size_t at = static_cast<std::size_t>(place(numbers, file));
  const std::size_t width = std::size_t{1} << numbers.below(4);
  const uint64_t bounds[] = {0, ~uint64_t{0}, uint64_t{1} << (8 * width - 1), file.size(), at};
  const uint64_t value = bounds[numbers.below(5)] + static_cast<uint64_t>(numbers.below(5)) - 2;
  for (std::size_t i = 0; i < width && at + i < file.size(); ++i)
    file[at + i] = static_cast<uint8_t>(value >> (8 * i));
}

void mutate(Bytes& file, const Bytes& other, NumberSource& numbers) {
  if (file.empty()) file.push_back(0);
  const auto at = place(numbers, file);
  const auto some = std::min<std::ptrdiff_t>(1 + numbers.below(64), file.end() - file.begin() - at);
  switch (numbers.below(8)) {
    case 0:
    case 1:
      file[static_cast<std::size_t>(at)] ^= static_cast<uint8_t>(1 << numbers.below(8));
      break;
    case 2:
      file[static_cast<std::size_t>(at)] = static_cast<uint8_t>(numbers.next());
      break;
    case 3:
      if (file[0] == 0xff || file[0] == 0x89)
        edit_picture_length(file, numbers);
      else
        edit_number(file, numbers);
      break;
    case 4:
      file.erase(file.begin() + at, file.begin() + at + some);
      break;
    case 5:
      file.insert(file.begin() + at, static_cast<std::size_t>(some),
                  static_cast<uint8_t>(numbers.next()));
      break;
    case 6: {  // a piece of another input, over or into this one
      if (other.empty()) break;
      const auto from = place(numbers, other);
      const auto length = std::min<std::ptrdiff_t>(some, other.end() - other.begin() - from);
      const Bytes piece(other.begin() + from, other.begin() + from + length);
      file.insert(file.begin() + at, piece.begin(), piece.end());
      break;
    }
    default:
      if (numbers.below(4) == 0) file.resize(static_cast<std::size_t>(at));
  }
  if (file.empty()) file.push_back(0);
}

int run_mutations(const std::string& directory, uint64_t count) {
  const std::vector<Bytes> inputs = corpus(directory);
  const int kinds = static_cast<int>(inputs.size());
  if (kinds == 0) return std::fprintf(stderr, "no inputs in %s\n", directory.c_str()), EXIT_FAILURE;
  for (const Bytes& input : inputs) run(input);
  for (uint64_t i = 0; i < count; ++i) {
    NumberSource numbers(i);
    Bytes file = inputs[static_cast<std::size_t>(numbers.below(kinds))];
    const Bytes& other = inputs[static_cast<std::size_t>(numbers.below(kinds))];
    for (int times = 1 + numbers.below(4); times > 0; --times) mutate(file, other, numbers);
    run(file);
  }
  std::printf("%d inputs and %llu variants of them\n", kinds,
              static_cast<unsigned long long>(count));
  return EXIT_SUCCESS;
}

int write_inputs(const std::string& directory) {
  int number = 0;
  for (const Bytes& input : made_inputs()) {
    std::ofstream file(directory + "/made" + std::to_string(number++), std::ios::binary);
    file.write(reinterpret_cast<const char*>(input.data()),
               static_cast<std::streamsize>(input.size()));
    if (!file) return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  std::string directory;
  uint64_t mutations = 10'000;
  int at = 1;
  for (; at + 1 < argc && std::string_view(argv[at]).starts_with("--"); at += 2) {
    const std::string_view option = argv[at];
    if (option == "--write") return write_inputs(argv[at + 1]);
    if (option == "--corpus") directory = argv[at + 1];
    if (option == "--mutations") mutations = std::strtoull(argv[at + 1], nullptr, 10);
  }
  program = argv[0];
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE}) std::signal(signal, keep_input);
  if (at == argc) return run_mutations(directory, mutations);
  for (; at < argc; ++at) run(content_of(argv[at]));
  return EXIT_SUCCESS;
}
