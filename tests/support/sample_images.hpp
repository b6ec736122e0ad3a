// JPEG and PNG files made in memory, for tests and fuzzing. JPEGs come from libjpeg's compressor;
// PNGs are written by hand, so that they owe nothing to the library that reads them.
#pragma once

#include "support/numbers.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <string_view>
#include <vector>

#include <jpeglib.h>

namespace gh::test {

// Byte by byte: GCC 12 sees an overflow in vector::insert that is not there.
inline void append(Bytes& to, std::string_view text) {
  for (const char c : text) to.push_back(static_cast<uint8_t>(c));
}
inline void append(Bytes& to, const Bytes& bytes) {
  for (const uint8_t byte : bytes) to.push_back(byte);
}
inline void append_u16(Bytes& to, unsigned value) {
  to.push_back(static_cast<uint8_t>(value >> 8));
  to.push_back(static_cast<uint8_t>(value));
}
inline void append_u32(Bytes& to, uint32_t value) {
  append_u16(to, value >> 16);
  append_u16(to, value & 0xffff);
}

struct JpegSample {
  int height = 1, width = 1;
  J_COLOR_SPACE colours = JCS_YCbCr;  // as stored: also GRAYSCALE, RGB, CMYK, YCCK
  int h = 1, v = 1;                   // of the first (and fourth) component; the others are 1×1
  bool progressive = false, arithmetic = false, separate_scans = false;
  bool only_first_scans = false;  // progressive without its refinements, which libjpeg smooths
  int restart_rows = 0;
  int quality = 85;
};

namespace detail {

inline std::vector<jpeg_scan_info> scans_of(const JpegSample& sample, int components) {
  std::vector<jpeg_scan_info> scans;
  const auto add = [&scans](int component, int first, int last, int high, int low) {
    scans.push_back({1, {component, 0, 0, 0}, first, last, high, low});
  };
  for (int c = 0; c < components; ++c)
    sample.separate_scans ? add(c, 0, 63, 0, 0) : add(c, 0, 0, 0, 1);
  if (sample.only_first_scans)
    for (int c = 0; c < components; ++c) add(c, 1, 5, 0, 2);
  return scans;
}

// Smooth colours with hard noise on top: all frequencies, in all channels.
inline void fill_row(std::vector<uint8_t>& row, int y, int width, int channels,
                     NumberSource& noise) {
  for (int x = 0; x < width; ++x)
    for (int c = 0; c < channels; ++c)
      row[static_cast<std::size_t>(x) * channels + c] =
          static_cast<uint8_t>(3 * x * (c + 1) + 5 * y * (3 - c) + noise.below(90));
}

}  // namespace detail

inline Bytes make_jpeg(const JpegSample& sample, uint64_t seed = 1) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);  // exits with a message: samples are right or the test is not
  jpeg_create_compress(&info);
  unsigned char* data = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &data, &size);
  info.image_height = static_cast<JDIMENSION>(sample.height);
  info.image_width = static_cast<JDIMENSION>(sample.width);
  const bool four = sample.colours == JCS_CMYK || sample.colours == JCS_YCCK;
  info.in_color_space = four ? JCS_CMYK : sample.colours == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
  info.input_components = four ? 4 : sample.colours == JCS_GRAYSCALE ? 1 : 3;
  jpeg_set_defaults(&info);
  jpeg_set_colorspace(&info, sample.colours);
  jpeg_set_quality(&info, sample.quality, TRUE);
  for (int c = 0; c < info.num_components; ++c) {
    info.comp_info[c].h_samp_factor = c == 0 || c == 3 ? sample.h : 1;
    info.comp_info[c].v_samp_factor = c == 0 || c == 3 ? sample.v : 1;
  }
  info.arith_code = sample.arithmetic;
  info.restart_in_rows = sample.restart_rows;
  if (sample.progressive) jpeg_simple_progression(&info);
  const auto scans = detail::scans_of(sample, info.num_components);
  if (sample.separate_scans || sample.only_first_scans) {
    info.scan_info = scans.data();
    info.num_scans = static_cast<int>(scans.size());
  }
  jpeg_start_compress(&info, TRUE);
  std::vector<uint8_t> row(static_cast<std::size_t>(sample.width) * info.input_components);
  NumberSource noise(seed);
  for (int y = 0; y < sample.height; ++y) {
    detail::fill_row(row, y, sample.width, info.input_components, noise);
    JSAMPROW rows = row.data();
    jpeg_write_scanlines(&info, &rows, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  Bytes file(data, data + size);
  std::free(data);
  return file;
}

// A segment directly after the start-of-image marker.
inline Bytes with_segment(const Bytes& jpeg, uint8_t marker, const Bytes& payload) {
  Bytes file(jpeg.begin(), jpeg.begin() + 2);
  file.push_back(0xff);
  file.push_back(marker);
  append_u16(file, static_cast<unsigned>(payload.size() + 2));
  append(file, payload);
  file.insert(file.end(), jpeg.begin() + 2, jpeg.end());
  return file;
}

// A TIFF block whose second entry is the orientation.
inline Bytes tiff_block(int orientation, bool big_endian) {
  Bytes block;
  const auto u16 = [&](unsigned value) {
    append_u16(block, big_endian ? value : (value & 0xff) << 8 | value >> 8);
  };
  const auto u32 = [&](unsigned value) {
    u16(big_endian ? value >> 16 : value & 0xffff);
    u16(big_endian ? value & 0xffff : value >> 16);
  };
  append(block, big_endian ? "MM" : "II");
  u16(42), u32(8), u16(2);                // header, 2 entries
  u16(0x0100), u16(4), u32(1), u32(640);  // ImageWidth
  u16(0x0112), u16(3), u32(1), u16(static_cast<unsigned>(orientation)), u16(0);  // Orientation
  u32(0);  // no further directory
  return block;
}

inline Bytes with_exif(const Bytes& jpeg, int orientation, bool big_endian) {
  Bytes payload;
  append(payload, std::string_view("Exif\0\0", 6));
  append(payload, tiff_block(orientation, big_endian));
  return with_segment(jpeg, JPEG_APP0 + 1, payload);
}

struct PngSample {
  int height = 1, width = 1;
  int depth = 8;
  int colour_type = 2;  // 0 gray, 2 RGB, 3 palette, 4 gray and alpha, 6 RGBA
  bool interlaced = false;
  Bytes exif;  // a TIFF block, or nothing

  int channels() const {
    return colour_type == 2 ? 3 : colour_type == 4 ? 2 : colour_type == 6 ? 4 : 1;
  }
};

// The value of one channel of one pixel, below 2^depth.
using PngValue = std::function<unsigned(int y, int x, int channel)>;

inline uint8_t palette_value(unsigned entry, int channel) {
  return static_cast<uint8_t>(255 - entry * (channel == 0 ? 1 : channel == 1 ? 7 : 13));
}

inline uint32_t png_checksum(const uint8_t* data, std::size_t size) {
  uint32_t crc = 0xffffffff;
  for (std::size_t i = 0; i < size; ++i) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
  }
  return ~crc;
}

inline void append_chunk(Bytes& png, std::string_view type, const Bytes& data) {
  append_u32(png, static_cast<uint32_t>(data.size()));
  const std::size_t begin = png.size();
  append(png, type);
  append(png, data);
  append_u32(png, png_checksum(png.data() + begin, png.size() - begin));
}

namespace detail {

// Filter byte 0 and packed samples of every (y_step, x_step)-th pixel.
inline void append_pass(Bytes& raw, const PngSample& sample, const PngValue& value, int y0, int x0,
                        int y_step, int x_step) {
  if (x0 >= sample.width) return;
  for (int y = y0; y < sample.height; y += y_step) {
    raw.push_back(0);
    unsigned bits = 0, filled = 0;
    for (int x = x0; x < sample.width; x += x_step)
      for (int c = 0; c < sample.channels(); ++c) {
        bits = bits << sample.depth | value(y, x, c);
        filled += static_cast<unsigned>(sample.depth);
        for (; filled >= 8; filled -= 8) raw.push_back(static_cast<uint8_t>(bits >> (filled - 8)));
      }
    if (filled > 0) raw.push_back(static_cast<uint8_t>(bits << (8 - filled)));
  }
}

inline Bytes stored_deflate(const Bytes& raw) {
  Bytes out = {0x78, 0x01};
  for (std::size_t at = 0; at < raw.size();) {
    const std::size_t length = std::min<std::size_t>(raw.size() - at, 65535);
    out.push_back(at + length == raw.size());
    for (const unsigned n : {static_cast<unsigned>(length), ~static_cast<unsigned>(length)}) {
      out.push_back(static_cast<uint8_t>(n));
      out.push_back(static_cast<uint8_t>(n >> 8));
    }
    out.insert(out.end(), raw.begin() + static_cast<std::ptrdiff_t>(at),
               raw.begin() + static_cast<std::ptrdiff_t>(at + length));
    at += length;
  }
  uint32_t a = 1, b = 0;  // Adler-32
  for (const uint8_t byte : raw) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  append_u32(out, b << 16 | a);
  return out;
}

}  // namespace detail

inline Bytes make_png(const PngSample& sample, const PngValue& value) {
  Bytes png, header, raw;
  append(png, "\x89PNG\r\n\x1a\n");
  append_u32(header, static_cast<uint32_t>(sample.width));
  append_u32(header, static_cast<uint32_t>(sample.height));
  for (const int byte : {sample.depth, sample.colour_type, 0, 0, sample.interlaced ? 1 : 0})
    header.push_back(static_cast<uint8_t>(byte));
  append_chunk(png, "IHDR", header);
  if (!sample.exif.empty()) append_chunk(png, "eXIf", sample.exif);
  if (sample.colour_type == 3) {
    Bytes palette;
    for (unsigned entry = 0; entry < 1u << sample.depth; ++entry)
      for (int c = 0; c < 3; ++c) palette.push_back(palette_value(entry, c));
    append_chunk(png, "PLTE", palette);
  }
  if (sample.interlaced) {
    constexpr int kAdam7[7][4] = {{0, 0, 8, 8}, {0, 4, 8, 8}, {4, 0, 8, 4}, {0, 2, 4, 4},
                                  {2, 0, 4, 2}, {0, 1, 2, 2}, {1, 0, 2, 1}};
    for (const auto& pass : kAdam7)
      detail::append_pass(raw, sample, value, pass[0], pass[1], pass[2], pass[3]);
  } else {
    detail::append_pass(raw, sample, value, 0, 0, 1, 1);
  }
  const Bytes stream = detail::stored_deflate(raw);
  const auto middle = stream.begin() + static_cast<std::ptrdiff_t>(stream.size() / 2);
  append_chunk(png, "IDAT", Bytes(stream.begin(), middle));
  append_chunk(png, "IDAT", Bytes(middle, stream.end()));
  append_chunk(png, "IEND", {});
  return png;
}

}  // namespace gh::test
