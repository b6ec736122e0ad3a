#include "image/decode.hpp"

#include "gh/error.hpp"
#include "image/jpeg_decoder.hpp"
#include "image/png_decoder.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace gh::host {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kJpegMagic = "\xff\xd8", kPngMagic = "\x89PNG";

// What people put in place of pictures. The first that matches is named.
struct Signature {
  std::size_t offset;
  std::string_view magic, what;
};
constexpr Signature kPictures[] = {
    {0, "GIF8"sv, "a GIF"},
    {8, "WEBP"sv, "a WebP"},
    {0, "BM"sv, "a BMP"},
    {0, "II*\0"sv, "a TIFF"},
    {0, "MM\0*"sv, "a TIFF"},
    {4, "ftypavi"sv, "an AVIF"},
    {4, "ftyphe"sv, "a HEIC"},
    {4, "ftypmif1"sv, "a HEIC or AVIF"},
    {4, "ftypmsf1"sv, "a HEIC"},
    {0, "\0\0\1\0"sv, "an ICO"},
    {4, "jP  \r\n"sv, "a JPEG 2000"},
    {4, "JXL \r\n"sv, "a JPEG XL"},
    {0, "\xff\x0a"sv, "a JPEG XL"},
};
constexpr Signature kOthers[] = {
    {4, "ftyp"sv, "an MP4 or QuickTime video"},
    {0, "%PDF"sv, "a PDF document"},
    {0, "\x1f\x8b"sv, "a gzip archive"},
    {0, "PK\3\4"sv, "a zip archive"},
    {0, "PK\5\6"sv, "an empty zip archive"},
    {0, "version https://git-lfs.github.com/"sv,
     "a Git LFS pointer in place of the picture (`git lfs pull` fetches it)"},
};
// After white space, in lower case.
constexpr Signature kPages[] = {
    {0, "<!doctype html"sv, "an HTML page, perhaps an error page of a download"},
    {0, "<html"sv, "an HTML page, perhaps an error page of a download"},
    {0, "<svg"sv, "an SVG drawing"},
    {0, "<?xml"sv, "an XML document, perhaps an SVG drawing or an error page of a download"},
};

const Signature* find(std::span<const Signature> table, std::string_view text) {
  for (const Signature& known : table)
    if (text.size() > known.offset && text.substr(known.offset).starts_with(known.magic))
      return &known;
  return nullptr;
}

std::string first_words(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  std::string words(text.substr(begin, 16));
  for (char& c : words) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return words;
}

[[noreturn]] void refuse_format(std::string_view text) {
  require(!text.empty(), ErrorCode::io, "empty file");
  if (const auto* known = find(kPictures, text))
    fail(ErrorCode::io, known->what, " picture, only JPEG and PNG can be read");
  if (const auto* known = find(kOthers, text)) fail(ErrorCode::io, known->what);
  if (const auto* known = find(kPages, first_words(text))) fail(ErrorCode::io, known->what);

  std::string begin;
  for (const char c : text.substr(0, 4)) {
    char hex[4];
    std::snprintf(hex, sizeof hex, " %02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    begin += hex;
  }
  fail(ErrorCode::io, "neither JPEG nor PNG (begins with", begin, ")");
}

// EXIF orientation as index arithmetic: the shown pixel (y, x) is the stored (y, x), or (x, y) when
// transposed, counted from the other end where reversed.
struct Turn {
  explicit Turn(int orientation)
      : transposed(orientation >= 5),
        rows_reversed(orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7),
        columns_reversed(orientation == 2 || orientation == 3 || orientation == 7 ||
                         orientation == 8) {}
  bool transposed, rows_reversed, columns_reversed;
};

Box stored_box(Box box, const StoredPicture& picture) {
  const Turn turn(picture.orientation);
  if (turn.transposed) {
    std::swap(box.top, box.left);
    std::swap(box.height, box.width);
  }
  if (turn.rows_reversed) box.top = picture.height - box.top - box.height;
  if (turn.columns_reversed) box.left = picture.width - box.left - box.width;
  return box;
}

void turn_upright(const InterleavedImage& stored, int orientation, InterleavedImage& out) {
  const Turn turn(orientation);
  out.height = turn.transposed ? stored.width : stored.height;
  out.width = turn.transposed ? stored.height : stored.width;
  out.pixels.resize(stored.pixels.size());

  const uint8_t* row = stored.pixels.data();
  std::ptrdiff_t down = std::ptrdiff_t{3} * stored.width, across = 3;
  if (turn.rows_reversed) {
    row += down * (stored.height - 1);
    down = -down;
  }
  if (turn.columns_reversed) {
    row += across * (stored.width - 1);
    across = -across;
  }
  if (turn.transposed) std::swap(down, across);
  uint8_t* to = out.pixels.data();
  for (int y = 0; y < out.height; ++y)
    for (int x = 0; x < out.width; ++x, to += 3) std::memcpy(to, row + y * down + x * across, 3);
}

}  // namespace

struct ImageDecoder::State {
  JpegDecoder jpeg;
  PngDecoder png;
  PictureFormat* opened = nullptr;
  StoredPicture picture;
  ImageSize shown;
  InterleavedImage stored;  // before it is turned
};

ImageDecoder::ImageDecoder() : state_(std::make_unique<State>()) {}
ImageDecoder::~ImageDecoder() = default;

ImageSize ImageDecoder::open(std::span<const uint8_t> bytes) {
  State& state = *state_;
  state.opened = nullptr;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  PictureFormat* format = nullptr;
  if (text.starts_with(kJpegMagic)) format = &state.jpeg;
  if (text.starts_with(kPngMagic)) format = &state.png;
  if (!format) refuse_format(text);

  state.picture = format->open(bytes);
  ImageSize& shown = state.shown = {state.picture.height, state.picture.width};
  if (Turn(state.picture.orientation).transposed) std::swap(shown.height, shown.width);
  const int64_t pixels = int64_t{shown.height} * shown.width;
  require(pixels <= kMaxPixels, ErrorCode::io, "picture of ", shown.width, "×", shown.height, " = ",
          pixels, " pixels, more than the limit of ", kMaxPixels);
  state.opened = format;
  return shown;
}

void ImageDecoder::read(const Box& box, InterleavedImage& out) {
  State& state = *state_;
  PictureFormat* format = std::exchange(state.opened, nullptr);
  require(format, ErrorCode::internal, "read() without a successful open()");
  require(box.top >= 0 && box.height > 0 && box.height <= state.shown.height - box.top &&
              box.left >= 0 && box.width > 0 && box.width <= state.shown.width - box.left,
          ErrorCode::internal, "a box of ", box.width, "×", box.height, " at (", box.left, ", ",
          box.top, ") is not inside ", state.shown.width, "×", state.shown.height, " pixels");
  const Box stored = stored_box(box, state.picture);
  try {
    if (state.picture.orientation == 1) {
      format->read(stored, out);
    } else {
      format->read(stored, state.stored);
      turn_upright(state.stored, state.picture.orientation, out);
    }
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::out_of_memory, "not enough memory for ", box.width, "×", box.height, " pixels");
  }
}

}  // namespace gh::host
