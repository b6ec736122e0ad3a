// Pictures are made in the test; what should come out of them is computed by a plain loop over
// libjpeg, or by formula.
#include "image/decode.hpp"
#include "gh/error.hpp"
#include "image/png_writer.hpp"
#include "support/sample_images.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>

using namespace gh::host;
using namespace gh::test;
using Catch::Matchers::Contains;
using Catch::Matchers::Equals;

namespace {

InterleavedImage read_box(ImageDecoder& decoder, const Bytes& file, const Box& box) {
  InterleavedImage out;
  decoder.open(file);
  decoder.read(box, out);
  return out;
}

InterleavedImage read_whole(const Bytes& file) {
  ImageDecoder decoder;
  InterleavedImage out;
  const ImageSize size = decoder.open(file);
  decoder.read({0, 0, size.height, size.width}, out);
  return out;
}

// Opens and reads everything; gives the message, or "" when there was nothing to complain about.
std::string complaint(const Bytes& file) {
  try {
    read_whole(file);
    return "";
  } catch (const gh::Error& error) {
    CHECK(error.code() == gh::ErrorCode::io);
    return error.what();
  }
}
std::string complaint(std::string_view text) { return complaint(Bytes(text.begin(), text.end())); }

// The oracle: the simplest possible use of libjpeg.
InterleavedImage decode_plainly(const Bytes& file, J_COLOR_SPACE colours = JCS_RGB) {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, file.data(), file.size());
  jpeg_read_header(&info, TRUE);
  info.out_color_space = colours;
  jpeg_start_decompress(&info);
  const std::size_t row_bytes = std::size_t{info.output_width} * info.output_components;
  InterleavedImage image{static_cast<int>(info.output_height), static_cast<int>(info.output_width),
                         std::vector<uint8_t>(info.output_height * row_bytes)};
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = image.pixels.data() + info.output_scanline * row_bytes;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
  return image;
}

const uint8_t* pixel(const InterleavedImage& image, int y, int x) {
  return image.pixels.data() + 3 * (static_cast<std::size_t>(y) * image.width + x);
}

InterleavedImage cut(const InterleavedImage& whole, const Box& box) {
  InterleavedImage out{box.height, box.width, {}};
  for (int y = 0; y < box.height; ++y) {
    const uint8_t* row = pixel(whole, box.top + y, box.left);
    out.pixels.insert(out.pixels.end(), row, row + 3 * box.width);
  }
  return out;
}

bool same(const InterleavedImage& a, const InterleavedImage& b) {
  return a.height == b.height && a.width == b.width && a.pixels == b.pixels;
}

// Corners, edges, single pixels, stripes, and random ones.
std::vector<Box> boxes_in(int height, int width, int random) {
  std::vector<Box> boxes;
  for (const int h : {1, 2, height / 2, height - 1, height})
    for (const int w : {1, 3, width / 2, width - 1, width})
      if (h >= 1 && w >= 1 && h <= height && w <= width)
        for (const int top : {0, height - h})
          for (const int left : {0, width - w}) boxes.push_back({top, left, h, w});
  NumberSource numbers(static_cast<uint64_t>(height) * 1000 + width);
  for (int i = 0; i < random; ++i) {
    const int h = 1 + numbers.below(height), w = 1 + numbers.below(width);
    boxes.push_back({numbers.below(height - h + 1), numbers.below(width - w + 1), h, w});
  }
  return boxes;
}

struct Sampling {
  const char* name;
  J_COLOR_SPACE colours;
  int h, v;
};
const Sampling kSamplings[] = {
    {"4:4:4", JCS_YCbCr, 1, 1},    {"4:2:2", JCS_YCbCr, 2, 1},        {"4:2:0", JCS_YCbCr, 2, 2},
    {"4:4:0", JCS_YCbCr, 1, 2},    {"4:1:1", JCS_YCbCr, 4, 1},        {"4:1:0", JCS_YCbCr, 4, 2},
    {"3:1", JCS_YCbCr, 3, 1},      {"1:4 down", JCS_YCbCr, 1, 4},     {"RGB", JCS_RGB, 1, 1},
    {"gray", JCS_GRAYSCALE, 1, 1}, {"gray 2×2", JCS_GRAYSCALE, 2, 2},
};

JpegSample sample_of(const Sampling& sampling, int height, int width) {
  JpegSample sample;
  sample.colours = sampling.colours;
  sample.h = sampling.h;
  sample.v = sampling.v;
  sample.height = height;
  sample.width = width;
  return sample;
}

void check_boxes(const JpegSample& sample, int random) {
  const Bytes file = make_jpeg(sample);
  const InterleavedImage whole = decode_plainly(file);
  ImageDecoder decoder;
  const ImageSize size = decoder.open(file);
  REQUIRE((size.height == sample.height && size.width == sample.width));
  for (const Box& box : boxes_in(sample.height, sample.width, random)) {
    CAPTURE(sample.height, sample.width, box.top, box.left, box.height, box.width);
    REQUIRE(same(read_box(decoder, file, box), cut(whole, box)));
  }
}

}  // namespace

TEST_CASE("a box of a JPEG has the pixels of the decoded whole") {
  const auto& sampling = GENERATE(from_range(std::begin(kSamplings), std::end(kSamplings)));
  const std::string kind = GENERATE("baseline", "progressive", "separate", "restart", "arithmetic");
  CAPTURE(sampling.name, kind);
  for (const auto& [height, width] :
       {std::pair{1, 1}, {2, 3}, {7, 5}, {16, 16}, {17, 33}, {66, 34}, {35, 71}, {64, 129}}) {
    JpegSample sample = sample_of(sampling, height, width);
    sample.progressive = kind == "progressive";
    sample.separate_scans = kind == "separate";
    sample.restart_rows = kind == "restart" ? 1 : 0;
    sample.arithmetic = kind == "arithmetic";
    check_boxes(sample, 15);
  }
}

TEST_CASE("a box of a JPEG is exact wherever it begins and ends") {
  const auto& sampling = GENERATE(from_range(std::begin(kSamplings), std::end(kSamplings)));
  const bool progressive = GENERATE(false, true);
  CAPTURE(sampling.name, progressive);
  JpegSample sample = sample_of(sampling, 53, 75);
  sample.progressive = progressive;
  const Bytes file = make_jpeg(sample);
  const InterleavedImage whole = decode_plainly(file);
  ImageDecoder decoder;
  for (int begin = 0; begin < 75; ++begin)
    for (const int length : {1, 2, 15, 16, 17, 40}) {
      const int top = std::min(begin, 52), height = std::min(length, 53 - top);
      const Box box{top, begin, height, std::min(length, 75 - begin)};
      CAPTURE(box.top, box.left, box.height, box.width);
      REQUIRE(same(read_box(decoder, file, box), cut(whole, box)));
    }
}

TEST_CASE("a progressive JPEG without its refinements is smoothed alike in box and whole") {
  for (const Sampling& sampling : kSamplings) {
    CAPTURE(sampling.name);
    JpegSample sample = sample_of(sampling, 83, 117);
    sample.only_first_scans = true;
    check_boxes(sample, 40);
  }
}

TEST_CASE("CMYK is inverted and darkened by its black") {
  const J_COLOR_SPACE colours = GENERATE(JCS_CMYK, JCS_YCCK);
  JpegSample sample;
  sample.colours = colours;
  sample.height = 45;
  sample.width = 61;
  sample.h = sample.v = GENERATE(1, 2);
  const Bytes file = make_jpeg(sample);
  const InterleavedImage cmyk = decode_plainly(file, JCS_CMYK);
  InterleavedImage whole{45, 61, {}};
  for (std::size_t i = 0; i < cmyk.pixels.size(); i += 4)
    for (int c = 0; c < 3; ++c) {
      // key − round(ink·key/255), with ink the complement of what is stored
      const int key = cmyk.pixels[i + 3], ink = 255 - cmyk.pixels[i + c];
      whole.pixels.push_back(static_cast<uint8_t>(key - (2 * ink * key + 255) / 510));
    }
  CHECK(same(read_whole(file), whole));
  ImageDecoder decoder;
  for (const Box& box : boxes_in(45, 61, 30)) {
    CAPTURE(box.top, box.left, box.height, box.width);
    REQUIRE(same(read_box(decoder, file, box), cut(whole, box)));
  }
}

TEST_CASE("EXIF orientation turns picture, size and boxes") {
  const int orientation = GENERATE(range(1, 9));
  const bool big_endian = GENERATE(false, true);
  JpegSample sample = sample_of(kSamplings[2], 37, 52);
  const Bytes plain = make_jpeg(sample), file = with_exif(plain, orientation, big_endian);
  const InterleavedImage stored = decode_plainly(plain);
  const int rows = stored.height, columns = stored.width;

  const bool sideways = orientation >= 5;
  InterleavedImage shown{sideways ? columns : rows, sideways ? rows : columns, {}};
  for (int y = 0; y < shown.height; ++y)
    for (int x = 0; x < shown.width; ++x) {
      const int last_row = rows - 1, last_column = columns - 1;
      const std::pair<int, int> from[] = {
          {y, x}, {y, last_column - x}, {last_row - y, last_column - x}, {last_row - y, x},
          {x, y}, {last_row - x, y},    {last_row - x, last_column - y}, {x, last_column - y}};
      const auto [row, column] = from[orientation - 1];
      shown.pixels.insert(shown.pixels.end(), pixel(stored, row, column),
                          pixel(stored, row, column) + 3);
    }

  ImageDecoder decoder;
  const ImageSize size = decoder.open(file);
  CHECK((size.height == shown.height && size.width == shown.width));
  CHECK(same(read_whole(file), shown));
  for (const Box& box : boxes_in(shown.height, shown.width, 20)) {
    CAPTURE(orientation, box.top, box.left, box.height, box.width);
    REQUIRE(same(read_box(decoder, file, box), cut(shown, box)));
  }

  PngSample png;
  png.height = 3;
  png.width = 5;
  png.exif = tiff_block(orientation, big_endian);
  const Bytes png_file =
      make_png(png, [](int y, int x, int c) { return 10u * y + x + 100u * (c == 0); });
  const InterleavedImage turned = read_whole(png_file);
  CHECK(turned.height == (sideways ? 5 : 3));
  constexpr uint8_t kFirst[] = {0, 4, 24, 20, 0, 20, 24, 4};  // 10·row + column at the top left
  CHECK(pixel(turned, 0, 0)[1] == kFirst[orientation - 1]);
}

TEST_CASE("broken EXIF means upright") {
  const Bytes plain = make_jpeg(sample_of(kSamplings[0], 8, 16));
  const Bytes good = [] {
    Bytes payload;
    append(payload, std::string_view("Exif\0\0", 6));
    append(payload, tiff_block(6, true));
    return payload;
  }();
  const auto width = [&](const Bytes& payload) {
    ImageDecoder decoder;
    return decoder.open(with_segment(plain, JPEG_APP0 + 1, payload)).width;
  };
  REQUIRE(width(good) == 8);

  SECTION("cut anywhere") {
    // The entry ends 4 bytes before the block does; the pointer to a next directory is not needed.
    for (std::size_t length = 0; length + 4 < good.size(); ++length)
      CHECK(width(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length))) == 16);
  }
  SECTION("values out of range") {
    for (const int value : {0, 9, 255, 65535}) {
      const Bytes file = with_exif(plain, value, false);
      CHECK(ImageDecoder().open(file).width == 16);
    }
  }
  SECTION("any byte changed to anything") {
    for (std::size_t i = 0; i < good.size(); ++i)
      for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
        Bytes payload = good;
        payload[i] = static_cast<uint8_t>(value);
        const int seen = width(payload);
        CHECK((seen == 8 || seen == 16));
      }
  }
  SECTION("the first of two EXIF segments counts, other APP1 segments do not") {
    const Bytes xmp(40, 'x');
    CHECK(ImageDecoder().open(with_segment(with_exif(plain, 6, true), JPEG_APP0 + 1, xmp)).width ==
          8);
    CHECK(ImageDecoder().open(with_exif(with_exif(plain, 6, true), 1, true)).width == 16);
  }
  SECTION("a segment longer than the file") {
    Bytes file = {0xff, 0xd8, 0xff, 0xe1, 0xff, 0xff, 'E', 'x', 'i', 'f', 0, 0};
    CHECK_THAT(complaint(file), Contains("truncated JPEG"));
    CHECK_THAT(complaint(Bytes(file.begin(), file.begin() + 5)), Contains("truncated JPEG"));
  }
}

TEST_CASE("PNGs of every kind become 8-bit RGB") {
  const int colour_type = GENERATE(0, 2, 3, 4, 6);
  const int depth = GENERATE(1, 2, 4, 8, 16);
  const bool interlaced = GENERATE(false, true);
  const bool exists = colour_type == 0 || (colour_type == 3 ? depth <= 8 : depth >= 8);
  if (!exists) return;
  for (const auto& [height, width] : {std::pair{1, 1}, {2, 3}, {5, 4}, {19, 29}}) {
    CAPTURE(colour_type, depth, interlaced, height, width);
    PngSample sample;
    sample.height = height;
    sample.width = width;
    sample.depth = depth;
    sample.colour_type = colour_type;
    sample.interlaced = interlaced;
    const auto value = [depth = depth](int y, int x, int c) {
      return (4099u * y + 257u * x + 31u * y * x + 7001u * c) & ((1u << depth) - 1);
    };
    const Bytes file = make_png(sample, value);
    InterleavedImage whole{height, width, {}};
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x)
        for (int c = 0; c < 3; ++c) {
          const unsigned v = value(y, x, colour_type == 2 || colour_type == 6 ? c : 0);
          whole.pixels.push_back(colour_type == 3 ? palette_value(v, c)
                                 : depth == 16
                                     ? static_cast<uint8_t>(v >> 8)
                                     : static_cast<uint8_t>(v * 255 / ((1 << depth) - 1)));
        }
    CHECK(same(read_whole(file), whole));
    ImageDecoder decoder;
    for (const Box& box : boxes_in(height, width, 5)) {
      CAPTURE(box.top, box.left, box.height, box.width);
      REQUIRE(same(read_box(decoder, file, box), cut(whole, box)));
    }
  }
}

TEST_CASE("what is written as PNG comes back") {
  for (const auto& [height, width] : {std::pair{1, 1}, {3, 200}, {61, 47}}) {
    const InterleavedImage image =
        decode_plainly(make_jpeg(sample_of(kSamplings[0], height, width)));
    const std::string file = encode_png(image);
    CHECK(same(read_whole(Bytes(file.begin(), file.end())), image));
  }
  CHECK_THROWS_AS(encode_png({}), gh::Error);
  CHECK_THROWS_AS(encode_png({2, 2, std::vector<uint8_t>(11)}), gh::Error);
}

TEST_CASE("one decoder serves any sequence of files, also after failures") {
  const Bytes jpeg = make_jpeg(sample_of(kSamplings[2], 40, 50));
  const Bytes progressive = [] {
    JpegSample sample = sample_of(kSamplings[1], 33, 20);
    sample.progressive = true;
    return make_jpeg(sample);
  }();
  const Bytes png =
      make_png({9, 7, 8, 2, false, {}}, [](int y, int x, int c) { return 1u * y + x + c; });
  Bytes broken_jpeg = jpeg, broken_png = png;
  for (std::size_t i = jpeg.size() / 2; i < jpeg.size() / 2 + 40; ++i) broken_jpeg[i] = 0xff;
  broken_png[broken_png.size() / 2] ^= 1;
  const Bytes turned = with_exif(jpeg, 6, true);
  const Bytes* files[] = {&jpeg, &progressive, &turned, &png, &broken_jpeg, &broken_png};

  ImageDecoder decoder;
  InterleavedImage out;
  NumberSource numbers(5);
  for (int i = 0; i < 200; ++i) {
    const Bytes& file = *files[numbers.below(6)];
    const ImageSize size = decoder.open(file);
    if (numbers.below(4) == 0) continue;  // opened and left
    const Box box{0, 0, size.height, size.width};
    if (&file == &broken_jpeg || &file == &broken_png) {
      CHECK_THROWS_AS(decoder.read(box, out), gh::Error);
    } else {
      decoder.read(box, out);
      REQUIRE(same(out, read_whole(file)));
    }
  }
}

// All segments with this marker are taken out.
static Bytes without_segments(Bytes jpeg, uint8_t marker) {
  for (std::size_t at = 2; jpeg[at + 1] != 0xda;) {
    const std::size_t length = 2 + (jpeg[at + 2] << 8 | jpeg[at + 3]);
    const auto begin = jpeg.begin() + static_cast<std::ptrdiff_t>(at);
    if (jpeg[at + 1] == marker)
      jpeg.erase(begin, begin + static_cast<std::ptrdiff_t>(length));
    else
      at += length;
  }
  return jpeg;
}

TEST_CASE("a JPEG without tables does not take those of the file before") {
  const Bytes file = make_jpeg(sample_of(kSamplings[2], 40, 50));
  JpegSample other = sample_of(kSamplings[2], 33, 20);
  other.progressive = true;  // has Huffman tables of its own
  other.quality = 20;
  const Bytes before = make_jpeg(other);
  ImageDecoder decoder;
  // Without Huffman tables the standard's are meant, as in Motion JPEG.
  read_box(decoder, before, {0, 0, 33, 20});
  CHECK(
      same(read_box(decoder, without_segments(file, 0xc4), {0, 0, 40, 50}), decode_plainly(file)));
  read_box(decoder, before, {0, 0, 33, 20});
  CHECK_THROWS_WITH(read_box(decoder, without_segments(file, 0xdb), {0, 0, 40, 50}),
                    Equals("damaged JPEG: quantization table 0x00 was not defined"));
}

TEST_CASE("misuse of the decoder is reported") {
  const Bytes file = make_jpeg(sample_of(kSamplings[0], 10, 20));
  ImageDecoder decoder;
  InterleavedImage out;
  CHECK_THROWS_WITH(decoder.read({0, 0, 1, 1}, out), Contains("without a successful open()"));
  const int big = 2147483647;
  for (const Box& box : {Box{0, 0, 11, 20}, Box{0, 0, 10, 21}, Box{-1, 0, 5, 5}, Box{0, -1, 5, 5},
                         Box{6, 0, 5, 5}, Box{0, 16, 5, 5}, Box{0, 0, 0, 5}, Box{0, 0, 5, 0},
                         Box{big, big, big, big}, Box{-big, -big, big, big}}) {
    decoder.open(file);
    CHECK_THROWS_WITH(decoder.read(box, out), Contains("is not inside 20×10 pixels"));
  }
  decoder.open(file);
  decoder.read({0, 0, 10, 20}, out);
  CHECK_THROWS_WITH(decoder.read({0, 0, 10, 20}, out), Contains("without a successful open()"));
}

TEST_CASE("what is not a JPEG or PNG is named") {
  using namespace std::string_view_literals;
  const auto names = [](std::string_view text, const char* message) {
    CHECK_THAT(complaint(text), Equals(message));
  };
  names("", "empty file");
  names("GIF89a\1\0\1\0"sv, "a GIF picture, only JPEG and PNG can be read");
  names("BM\x36\0\0\0"sv, "a BMP picture, only JPEG and PNG can be read");
  names("RIFF\x10\0\0\0WEBPVP8 "sv, "a WebP picture, only JPEG and PNG can be read");
  names("II*\0\x08\0\0\0"sv, "a TIFF picture, only JPEG and PNG can be read");
  names("MM\0*\0\0\0\x08"sv, "a TIFF picture, only JPEG and PNG can be read");
  names(
      "\0\0\0\x18"
      "ftypheic\0\0"sv,
      "a HEIC picture, only JPEG and PNG can be read");
  names(
      "\0\0\0\x1c"
      "ftypavif\0\0"sv,
      "an AVIF picture, only JPEG and PNG can be read");
  names("\0\0\1\0\1\0"sv, "an ICO picture, only JPEG and PNG can be read");
  names("%PDF-1.7", "a PDF document");
  names("\x1f\x8b\x08\0"sv, "a gzip archive");
  names("PK\3\4\x14\0"sv, "a zip archive");
  names("\r\n <!DOCTYPE html>\n<html>", "an HTML page, perhaps an error page of a download");
  names("\xef\xbb\xbf<HTML lang=en>", "an HTML page, perhaps an error page of a download");
  CHECK_THAT(complaint("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a"),
             Contains("Git LFS pointer"));
  names("\xff\0\x12\x34\x56"sv, "neither JPEG nor PNG (begins with ff 00 12 34)");
  names("a", "neither JPEG nor PNG (begins with 61)");
}

TEST_CASE("sizes that cannot be are refused before memory is asked for") {
  JpegSample sample = sample_of(kSamplings[0], 8, 8);
  const Bytes jpeg = make_jpeg(sample);
  const Bytes kFrame = {0xff, 0xc0, 0x00, 0x11, 0x08};
  const auto frame =
      std::search(jpeg.begin(), jpeg.end(), kFrame.begin(), kFrame.end()) - jpeg.begin();
  const auto resized = [&](unsigned height, unsigned width) {
    Bytes file(jpeg.begin(), jpeg.begin() + frame + 5);
    append_u16(file, height);
    append_u16(file, width);
    file.insert(file.end(), jpeg.begin() + frame + 9, jpeg.end());
    return file;
  };
  CHECK(complaint(resized(8, 8)).empty());
  CHECK_THAT(complaint(resized(30000, 30000)),
             Equals("picture of 30000×30000 = 900000000 pixels, more than the limit of 178956970"));
  CHECK_THAT(complaint(resized(0, 8)), Contains("width or height is 0"));
  CHECK_THAT(complaint(resized(8, 0)), Contains("width or height is 0"));
  CHECK_THAT(complaint(resized(65535, 8)), Contains("unsupported JPEG"));

  const auto png = [](int height, int width) {
    Bytes file = make_png({1, 1, 8, 2, false, {}}, [](int, int, int) { return 0u; });
    Bytes header, rest(file.begin() + 33, file.end());
    append_u32(header, static_cast<uint32_t>(width));
    append_u32(header, static_cast<uint32_t>(height));
    append(header, std::string_view("\x08\x02\0\0\0", 5));
    file.resize(8);
    append_chunk(file, "IHDR", header);
    append(file, rest);
    return file;
  };
  CHECK(complaint(png(1, 1)).empty());
  CHECK_THAT(complaint(png(30000, 30000)), Contains("900000000 pixels"));
  CHECK_THAT(complaint(png(2147483647, 2147483647)), Contains("than the limit of 178956970"));
  CHECK_THAT(complaint(png(0, 1)), Contains("impossible size"));
  CHECK_THAT(complaint(png(1, 0)), Contains("impossible size"));
  CHECK_THAT(complaint(png(300, 300)), Contains("truncated PNG"));
}

TEST_CASE("JPEGs that libjpeg cannot read say why") {
  const Bytes jpeg = make_jpeg(sample_of(kSamplings[0], 8, 8));
  const auto changed = [&](std::size_t from_frame, uint8_t value) {
    Bytes file = jpeg;
    const Bytes kFrame = {0xff, 0xc0, 0x00, 0x11, 0x08};
    const auto frame = std::search(file.begin(), file.end(), kFrame.begin(), kFrame.end());
    frame[static_cast<std::ptrdiff_t>(from_frame)] = value;
    return file;
  };
  CHECK_THAT(complaint(changed(4, 12)),
             Equals("unsupported JPEG: 12 bits a sample, only 8 can be read"));
  CHECK_THAT(complaint(changed(1, 0xc3)),
             Equals("unsupported JPEG: lossless or hierarchical coding"));

  // Two components: the frame loses its third, and the scan too.
  Bytes two = jpeg;
  const Bytes kFrame = {0xff, 0xc0, 0x00, 0x11, 0x08}, kScan = {0xff, 0xda, 0x00, 0x0c, 0x03};
  auto at = std::search(two.begin(), two.end(), kFrame.begin(), kFrame.end());
  at[3] = 0x0e;
  at[9] = 2;
  two.erase(at + 16, at + 19);
  at = std::search(two.begin(), two.end(), kScan.begin(), kScan.end());
  at[3] = 0x0a;
  at[4] = 2;
  two.erase(at + 9, at + 11);
  CHECK_THAT(complaint(two), Contains("2 colour components"));
}

TEST_CASE("a JPEG without its end is refused by open()") {
  JpegSample sample =
      sample_of(GENERATE(from_range(std::begin(kSamplings), std::end(kSamplings))), 60, 90);
  sample.progressive = GENERATE(false, true);
  Bytes thumbnail = make_jpeg(sample_of(kSamplings[0], 8, 8));  // has an end marker of its own
  const Bytes file = with_segment(make_jpeg(sample), JPEG_APP0 + 1, thumbnail);
  CHECK(complaint(file).empty());
  for (std::size_t length = 2; length < file.size(); length += 1 + length / 40) {
    const Bytes part(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(length));
    CAPTURE(length);
    CHECK_THROWS_WITH(ImageDecoder().open(part), Contains("truncated JPEG"));
  }
  Bytes longer = file;
  append(longer, "bytes that a camera added");
  CHECK(complaint(longer).empty());
}

TEST_CASE("a JPEG with a hole in its middle is refused when the box reaches it") {
  const Bytes file = make_jpeg(sample_of(kSamplings[2], 200, 200));
  Bytes damaged(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(file.size() / 2));
  append(damaged, Bytes{0xff, 0xd9});
  CHECK_THAT(complaint(damaged), Contains("damaged JPEG: premature end of data segment"));
  ImageDecoder decoder;
  CHECK(same(read_box(decoder, damaged, {0, 0, 40, 200}),
             cut(decode_plainly(file), {0, 0, 40, 200})));
}

TEST_CASE("a JPEG of endlessly many scans is refused") {
  JpegSample sample = sample_of(kSamplings[0], 16, 16);
  sample.progressive = true;
  Bytes file = make_jpeg(sample);
  file.resize(file.size() - 2);  // the end marker
  const Bytes kScan = {0xff, 0xda};
  const Bytes last(std::find_end(file.begin(), file.end(), kScan.begin(), kScan.end()), file.end());
  const auto repeated = [&](int times) {
    Bytes longer = file;
    for (int i = 0; i < times; ++i) append(longer, last);
    append(longer, Bytes{0xff, 0xd9});
    return longer;
  };
  CHECK(complaint(repeated(400)).empty());
  CHECK_THAT(complaint(repeated(600)), Equals("unsupported JPEG: more than 500 scans"));
}

TEST_CASE("harmless oddities of JPEGs are tolerated") {
  const Bytes file = make_jpeg(sample_of(kSamplings[2], 20, 30));
  const InterleavedImage whole = decode_plainly(file);
  Bytes junk_between = file;  // JWRN_EXTRANEOUS_DATA
  const Bytes kTable = {0xff, 0xdb};
  junk_between.insert(
      std::search(junk_between.begin(), junk_between.end(), kTable.begin(), kTable.end()),
      {1, 2, 3});
  CHECK(same(read_whole(junk_between), whole));
  Bytes future = file;  // JWRN_JFIF_MAJOR
  future[11] = 9;
  CHECK(same(read_whole(future), whole));
}

TEST_CASE("a PNG is refused wherever it is cut or changed") {
  PngSample sample;
  sample.height = 11;
  sample.width = 13;
  sample.interlaced = GENERATE(false, true);
  const Bytes file = make_png(sample, [](int y, int x, int c) { return 1u * y + 3u * x + c; });
  // libspng does not miss the four bytes after the word IEND, nor does the picture.
  for (std::size_t length = 4; length + 4 < file.size(); ++length) {
    CAPTURE(length);
    CHECK_THAT(complaint(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(length))),
               Contains("PNG"));
  }
  for (std::size_t i = 4; i < file.size(); ++i) {
    Bytes damaged = file;
    damaged[i] ^= static_cast<uint8_t>(1 << i % 8);
    CAPTURE(i);
    CHECK_THAT(complaint(damaged), Contains("PNG"));
  }
}

TEST_CASE("damaged JPEGs give a picture or an error") {
  NumberSource numbers(11);
  int pictures = 0, errors = 0;
  for (const Sampling& sampling : kSamplings)
    for (const bool progressive : {false, true}) {
      JpegSample sample = sample_of(sampling, 40, 40);
      sample.progressive = progressive;
      const Bytes file = with_exif(make_jpeg(sample), 6, true);
      for (int i = 0; i < 60; ++i) {
        Bytes damaged = file;
        for (int flips = 1 + numbers.below(4); flips > 0; --flips)
          damaged[static_cast<std::size_t>(2 + numbers.below(static_cast<int>(file.size()) - 2))] ^=
              static_cast<uint8_t>(1 << numbers.below(8));
        try {
          ImageDecoder decoder;
          const ImageSize size = decoder.open(damaged);
          if (int64_t{size.height} * size.width > 1'000'000) continue;
          InterleavedImage out;
          decoder.read({0, 0, size.height, size.width}, out);
          ++pictures;
        } catch (const gh::Error& error) {
          CHECK(error.code() == gh::ErrorCode::io);
          ++errors;
        }
      }
    }
  CHECK(pictures > 100);
  CHECK(errors > 100);
}
