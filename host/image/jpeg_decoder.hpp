// JPEG through libjpeg-turbo. Decodes no more of the file than a box needs. One a thread.
#pragma once

#include "image/picture_format.hpp"

#include <csetjmp>
#include <cstddef>
#include <cstdio>  // jpeglib.h needs it and does not say so

#include <jpeglib.h>

#include <vector>

namespace gh::host {

class JpegDecoder final : public PictureFormat {
 public:
  JpegDecoder();
  ~JpegDecoder() override;
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  StoredPicture open(std::span<const uint8_t> bytes) override;
  void read(const Box& box, InterleavedImage& out) override;

 private:
  // libjpeg knows the first member only and hands us its address.
  struct Errors {
    jpeg_error_mgr manager;
    std::jmp_buf escape;
  };
  struct Columns {
    JDIMENSION left = 0, width = 0;
  };

  [[noreturn]] static void on_error(j_common_ptr common);
  static void on_message(j_common_ptr common, int level);
  static void on_progress(j_common_ptr common);
  static boolean on_app1(j_decompress_ptr info);

  template <class Work>
  void guarded(Work work);
  [[noreturn]] void refuse();
  void forget_last_file();
  bool smoothing_between_blocks() const;
  Columns crop(const Box& box);
  void read_rows(const Box& box, Columns columns, uint8_t* out);

  jpeg_decompress_struct info_{};
  Errors errors_{};
  jpeg_progress_mgr progress_{};
  int orientation_ = 0;       // 0 until an EXIF segment was met
  std::vector<uint8_t> row_;  // of the columns that are decoded
};

}  // namespace gh::host
