// Event files that TensorBoard reads: scalars over steps. No more of the format than that.
//
// A file is a row of records: length (8 bytes), its checksum, the payload, its checksum. A payload
// is a protocol buffer Event {1: wall time, 2: step, 3: file version | 5: summary {1: value {1:
// tag, 2: number}} | 7: session log {1: status}}.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace gh::host {

// CRC-32C (Castagnoli).
uint32_t crc32c(std::string_view bytes);

// A payload between its length and checksums, as event files hold it.
std::string framed_record(std::string_view payload);

class EventWriter {
 public:
  // Begins a new file events.out.tfevents.<seconds>.<host>.<pid> in `directory`, which is made
  // where it is missing; its name comes after those of the files there, since TensorBoard reads
  // them in that order. With `purge_from_step` ≥ 0, TensorBoard drops the points of earlier files
  // from that step on: those a resumed run makes again. Throws gh::Error (io), as the other
  // functions do.
  EventWriter(const std::filesystem::path& directory, int64_t purge_from_step);

  // `wall_time` in seconds since 1970. Any value, stored as float32.
  void scalar(std::string_view tag, int64_t step, double value, double wall_time);
  void flush();

  const std::filesystem::path& file() const { return file_; }

 private:
  void write(std::string_view payload);
  std::filesystem::path file_;
  std::ofstream out_;
};

}  // namespace gh::host
