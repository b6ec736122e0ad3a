#include "image/jpeg_decoder.hpp"

#include "gh/error.hpp"
#include "image/exif.hpp"

#include <jerror.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace gh::host {
namespace {

// Note [Leaving libjpeg]
// libjpeg's error_exit must not return. Throwing from it would unwind through C and assembly frames
// which are not promised to carry unwind tables, so it jumps. A jump is defined only where no
// destructor is passed over: all calls that can fail run inside guarded(), in lambdas which hold
// references and plain values, and everything that allocates stays outside. State that must survive
// the jump lives in members, not in locals of the function that called setjmp.

// A legitimate progressive file has about ten scans. Tiny scans over a large picture would
// otherwise keep a thread busy for hours.
constexpr int kMaxScans = 500;
constexpr int kTooManyScans = JMSG_LASTMSGCODE + 1;

// Warnings after which libjpeg goes on with invented pixels. The others (bytes between segments,
// unknown versions, odd progressions) leave the picture whole, and Pillow ignores them too.
bool means_damage(int code) {
  switch (code) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_MUST_RESYNC:
#if JPEG_LIB_VERSION >= 70 || defined(D_ARITH_CODING_SUPPORTED)
    case JWRN_ARITH_BAD_CODE:
#endif
      return true;
    default:
      return false;
  }
}

// Valid files that libjpeg cannot read.
bool means_unsupported(int code) {
  switch (code) {
#if JPEG_LIB_VERSION < 70
    case JERR_ARITH_NOTIMPL:
#endif
    case JERR_CCIR601_NOTIMPL:
    case JERR_COMPONENT_COUNT:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_IMAGE_TOO_BIG:
    case JERR_NOTIMPL:
    case JERR_NOT_COMPILED:
    case JERR_WIDTH_OVERFLOW:
      return true;
    default:
      return false;
  }
}

// libjpeg's own words, to stand in the middle of a sentence.
std::string inner_words(std::string text) {
  constexpr std::string_view kPrefix = "Corrupt JPEG data: ";
  if (text.starts_with(kPrefix)) text.erase(0, kPrefix.size());
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])))
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

// An end-of-image marker cannot occur inside entropy-coded data, so that one suffices.
bool has_end_marker(std::span<const uint8_t> data) {
  for (std::size_t i = data.size(); i >= 2; --i)
    if (data[i - 2] == 0xff && data[i - 1] == JPEG_EOI) return true;
  return false;
}

// As Pillow: CMYK is taken to be stored inverted, as Adobe does, and ink darkens linearly.
void cmyk_to_rgb(const uint8_t* cmyk, uint8_t* rgb, int pixels) {
  for (int i = 0; i < pixels; ++i, cmyk += 4, rgb += 3) {
    const int light = cmyk[3];
    for (int c = 0; c < 3; ++c) {
      const int ink = (255 - cmyk[c]) * light + 128;
      rgb[c] = static_cast<uint8_t>(light - ((ink + (ink >> 8)) >> 8));
    }
  }
}

}  // namespace

void JpegDecoder::on_error(j_common_ptr common) {
  std::longjmp(reinterpret_cast<Errors*>(common->err)->escape, 1);
}

void JpegDecoder::on_message(j_common_ptr common, int level) {
  if (level < 0 && means_damage(common->err->msg_code)) on_error(common);
}

void JpegDecoder::on_progress(j_common_ptr common) {
  if (reinterpret_cast<j_decompress_ptr>(common)->input_scan_number <= kMaxScans) return;
  common->err->msg_code = kTooManyScans;
  on_error(common);
}

// The whole file is one buffer, so a segment lies in it or is cut off: no copy, no suspension.
boolean JpegDecoder::on_app1(j_decompress_ptr info) {
  jpeg_source_mgr& source = *info->src;
  if (source.bytes_in_buffer < 2) ERREXIT(info, JERR_INPUT_EOF);
  const JOCTET* segment = source.next_input_byte;
  const std::size_t length = std::max(segment[0] << 8 | segment[1], 2);
  if (length > source.bytes_in_buffer) ERREXIT(info, JERR_INPUT_EOF);

  constexpr std::string_view kExif("Exif\0\0", 6);
  int& orientation = static_cast<JpegDecoder*>(info->client_data)->orientation_;
  if (orientation == 0 && length >= 2 + kExif.size() &&
      std::memcmp(segment + 2, kExif.data(), kExif.size()) == 0)
    orientation = exif_orientation({segment + 2 + kExif.size(), length - 2 - kExif.size()});
  source.next_input_byte += length;
  source.bytes_in_buffer -= length;
  return TRUE;
}

// See Note [Leaving libjpeg].
template <class Work>
void JpegDecoder::guarded(Work work) {
  static_assert(std::is_trivially_destructible_v<Work>);
  if (setjmp(errors_.escape) != 0) refuse();
  work();
}

void JpegDecoder::refuse() {
  const int code = errors_.manager.msg_code, detail = errors_.manager.msg_parm.i[0];
  char text[JMSG_LENGTH_MAX] = "";
  if (code != kTooManyScans)
    errors_.manager.format_message(reinterpret_cast<j_common_ptr>(&info_), text);
  jpeg_abort_decompress(&info_);

  switch (code) {
    case JERR_INPUT_EOF:
    case JWRN_JPEG_EOF:
      fail(ErrorCode::io, "truncated JPEG: the file ends before the picture does");
    case JERR_OUT_OF_MEMORY:
      fail(ErrorCode::out_of_memory, "not enough memory to decode this JPEG");
    case JERR_EMPTY_IMAGE:
      fail(ErrorCode::io, "JPEG without pixels: its width or height is 0");
    case JERR_BAD_PRECISION:
      fail(ErrorCode::io, "unsupported JPEG: ", detail, " bits a sample, only 8 can be read");
    case JERR_SOF_UNSUPPORTED:
      fail(ErrorCode::io, "unsupported JPEG: lossless or hierarchical coding");
    case kTooManyScans:
      fail(ErrorCode::io, "unsupported JPEG: more than ", kMaxScans, " scans");
    default:
      fail(ErrorCode::io,
           means_unsupported(code) ? "unsupported JPEG: " : "damaged JPEG: ", inner_words(text));
  }
}

JpegDecoder::JpegDecoder() {
  info_.err = jpeg_std_error(&errors_.manager);
  errors_.manager.error_exit = on_error;
  errors_.manager.emit_message = on_message;
  progress_.progress_monitor = on_progress;
}

JpegDecoder::~JpegDecoder() { jpeg_destroy_decompress(&info_); }

// libjpeg keeps the tables of one file for the next, on purpose, and a file that lacks its own
// would look different after another one. They cannot be taken away singly; a new start costs
// microseconds.
void JpegDecoder::forget_last_file() {
  orientation_ = 0;
  jpeg_destroy_decompress(&info_);
  guarded([this] {
    jpeg_create_decompress(&info_);
    info_.client_data = this;
    info_.progress = &progress_;
    jpeg_set_marker_processor(&info_, JPEG_APP0 + 1, on_app1);
  });
}

StoredPicture JpegDecoder::open(std::span<const uint8_t> bytes) {
  forget_last_file();
  guarded([this, bytes] {
    jpeg_mem_src(&info_, bytes.data(), bytes.size());
    jpeg_read_header(&info_, TRUE);
  });
  require(info_.num_components == 1 || info_.num_components == 3 || info_.num_components == 4,
          ErrorCode::io, "unsupported JPEG: ", info_.num_components,
          " colour components, only 1, 3 or 4 can be read");
  // libjpeg-turbo 3 reads such headers and fails later.
  require(info_.data_precision == 8, ErrorCode::io, "unsupported JPEG: ", info_.data_precision,
          " bits a sample, only 8 can be read");
  // After the first scan's header, because a thumbnail inside the EXIF block has its own end.
  require(has_end_marker(bytes.last(info_.src->bytes_in_buffer)), ErrorCode::io,
          "truncated JPEG: the end marker is missing");
  return {static_cast<int>(info_.image_height), static_cast<int>(info_.image_width),
          std::max(orientation_, 1)};
}

void JpegDecoder::read(const Box& box, InterleavedImage& out) {
  out.height = box.height;
  out.width = box.width;
  out.pixels.resize(std::size_t{3} * box.height * box.width);
  guarded([this] {
    info_.out_color_space = info_.num_components == 4 ? JCS_CMYK : JCS_RGB;
    info_.dct_method = JDCT_ISLOW;
    info_.do_fancy_upsampling = TRUE;
    jpeg_start_decompress(&info_);
  });
  const Columns columns = crop(box);
  row_.resize(std::size_t{columns.width} * info_.output_components);
  guarded([this, &box, columns, pixels = out.pixels.data()] { read_rows(box, columns, pixels); });
  // Not jpeg_finish_decompress, which would read the rows below the box.
  jpeg_abort_decompress(&info_);
}

// A progressive file that ends before its last refinements is smoothed over block borders.
bool JpegDecoder::smoothing_between_blocks() const {
  if (!info_.progressive_mode || info_.coef_bits == nullptr) return false;
  constexpr int kSmoothedCoefficients = 10;
  for (int component = 0; component < info_.num_components; ++component)
    for (int i = 1; i < kSmoothedCoefficients; ++i)
      if (info_.coef_bits[component][i] != 0) return true;
  return false;
}

// Limits decoding to the columns of `box` and those that its border pixels depend on, so that they
// come out as in a decoded whole.
JpegDecoder::Columns JpegDecoder::crop(const Box& box) {
  Columns columns{0, info_.output_width};
  // At a cut, smoothing would miss its neighbours, and how far it reaches is libjpeg's affair.
  if (smoothing_between_blocks()) return columns;

  // Upsampled chroma is mixed from two neighbours. libjpeg moves the left cut to a multiple of the
  // MCU's width. A cut of fewer than three chroma samples would switch to plainer upsampling.
  const int wide_enough = 16;
  const int margin = info_.max_h_samp_factor == 1 ? 0 : box.width >= wide_enough ? 2 : 8;
  const int left = std::max(box.left - margin, 0);
  const int right = std::min(box.left + box.width + margin, static_cast<int>(info_.output_width));
  columns.left = static_cast<JDIMENSION>(left);
  columns.width = static_cast<JDIMENSION>(right - left);
  guarded([this, &columns] { jpeg_crop_scanline(&info_, &columns.left, &columns.width); });
  return columns;
}

// Runs inside guarded(): see Note [Leaving libjpeg].
void JpegDecoder::read_rows(const Box& box, Columns columns, uint8_t* out) {
  const int channels = info_.output_components;
  const std::size_t row_bytes = std::size_t{3} * box.width;
  const bool straight = channels == 3 && columns.width == static_cast<JDIMENSION>(box.width);
  const uint8_t* cut = row_.data() + std::size_t{box.left - columns.left} * channels;

  // Rows need no margin: where upsampling mixes them, libjpeg itself decodes one or more above.
  if (box.top > 0) jpeg_skip_scanlines(&info_, static_cast<JDIMENSION>(box.top));
  for (int y = 0; y < box.height; ++y, out += row_bytes) {
    JSAMPROW row = straight ? out : row_.data();
    if (jpeg_read_scanlines(&info_, &row, 1) != 1) ERREXIT(&info_, JERR_INPUT_EOF);
    if (channels == 4)
      cmyk_to_rgb(cut, out, box.width);
    else if (!straight)
      std::memcpy(out, cut, row_bytes);
  }
}

}  // namespace gh::host
