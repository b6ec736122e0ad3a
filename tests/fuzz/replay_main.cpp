// Runs the fuzz target without libFuzzer.
//
//   decode_fuzz FILE…            each file once
//   decode_fuzz --mutations N    N damaged variants of pictures made here; the same ones every time
//   decode_fuzz --seeds DIR      writes those pictures, as a corpus for libFuzzer
#include "support/sample_images.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

using namespace gh::test;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size);

namespace {

std::vector<Bytes> jpeg_seeds() {
  std::vector<Bytes> seeds;
  for (const J_COLOR_SPACE colours : {JCS_YCbCr, JCS_GRAYSCALE, JCS_RGB, JCS_CMYK, JCS_YCCK})
    for (const auto& [h, v] : {std::pair{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}})
      for (int kind = 0; kind < 6; ++kind) {
        if ((colours == JCS_GRAYSCALE || colours == JCS_RGB) && h * v > 1) continue;
        JpegSample sample;
        sample.height = 21 + 5 * kind;
        sample.width = 50 - 7 * kind;
        sample.colours = colours;
        sample.h = h;
        sample.v = v;
        sample.quality = 40;
        sample.progressive = kind == 1 || kind == 4;
        sample.separate_scans = kind == 2;
        sample.restart_rows = kind == 3 || kind == 4;
        sample.arithmetic = kind == 4 || kind == 5;
        seeds.push_back(make_jpeg(sample));
        if (kind == 0) seeds.push_back(with_exif(seeds.back(), 1 + h * v, h == 2));
        if (kind != 1) continue;
        sample.only_first_scans = true;
        seeds.push_back(make_jpeg(sample));
      }
  return seeds;
}

std::vector<Bytes> png_seeds() {
  std::vector<Bytes> seeds;
  for (const int colour_type : {0, 2, 3, 4, 6})
    for (const int depth : {1, 2, 4, 8, 16})
      for (const bool interlaced : {false, true}) {
        if (colour_type == 3 ? depth > 8 : colour_type != 0 && depth < 8) continue;
        PngSample sample;
        sample.height = 9;
        sample.width = 14;
        sample.depth = depth;
        sample.colour_type = colour_type;
        sample.interlaced = interlaced;
        if (interlaced) sample.exif = tiff_block(6, depth == 8);
        seeds.push_back(make_png(sample, [depth](int y, int x, int c) {
          return (37u * y + 11u * x + c) & ((1u << depth) - 1);
        }));
      }
  return seeds;
}

std::vector<Bytes> seeds() {
  std::vector<Bytes> all = jpeg_seeds();
  for (Bytes& png : png_seeds()) all.push_back(std::move(png));
  return all;
}

std::ptrdiff_t place(NumberSource& numbers, const Bytes& file) {
  return numbers.below(static_cast<int>(file.size()));
}

// The two bytes after a JPEG marker, or one of the first bytes of a PNG's chunk.
void edit_length(Bytes& file, NumberSource& numbers) {
  const auto begin = file.begin() + place(numbers, file);
  const auto marker = std::find(begin, file.end(), file[0] == 0xff ? 0xff : 'I');
  const auto offset = 2 + numbers.below(2);
  if (file.end() - marker <= offset) return;
  marker[file[0] == 0xff ? offset : -offset] = static_cast<uint8_t>(numbers.next());
}

void mutate(Bytes& file, const Bytes& other, NumberSource& numbers) {
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
      edit_length(file, numbers);
      break;
    case 4:
      file.erase(file.begin() + at, file.begin() + at + some);
      break;
    case 5:
      file.insert(file.begin() + at, static_cast<std::size_t>(some),
                  static_cast<uint8_t>(numbers.next()));
      break;
    case 6: {  // a piece of another picture, over or into this one
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

int run_mutations(uint64_t count) {
  const std::vector<Bytes> pictures = seeds();
  const int kinds = static_cast<int>(pictures.size());
  for (const Bytes& picture : pictures) LLVMFuzzerTestOneInput(picture.data(), picture.size());
  for (uint64_t i = 0; i < count; ++i) {
    NumberSource numbers(i);
    Bytes file = pictures[static_cast<std::size_t>(numbers.below(kinds))];
    const Bytes& other = pictures[static_cast<std::size_t>(numbers.below(kinds))];
    for (int times = 1 + numbers.below(4); times > 0; --times) mutate(file, other, numbers);
    LLVMFuzzerTestOneInput(file.data(), file.size());
  }
  std::printf("%d pictures and %llu variants of them\n", kinds,
              static_cast<unsigned long long>(count));
  return EXIT_SUCCESS;
}

int write_seeds(const std::string& directory) {
  int number = 0;
  for (const Bytes& picture : seeds()) {
    std::ofstream file(directory + "/seed" + std::to_string(number++), std::ios::binary);
    file.write(reinterpret_cast<const char*>(picture.data()),
               static_cast<std::streamsize>(picture.size()));
    if (!file) return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view option = argc > 2 ? argv[1] : "";
  if (option == "--mutations") return run_mutations(std::strtoull(argv[2], nullptr, 10));
  if (option == "--seeds") return write_seeds(argv[2]);
  if (argc == 1) return run_mutations(10'000);
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    const Bytes bytes{std::istreambuf_iterator<char>(file), {}};
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  return EXIT_SUCCESS;
}
