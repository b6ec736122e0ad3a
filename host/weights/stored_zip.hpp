// A zip archive whose members are stored without compression, which is how torch.save writes them.
// Only the directory is held in memory; members are read where they are wanted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

namespace gh::host {

// Not for several threads at once.
class StoredZip {
 public:
  // Throws gh::Error: missing_data without the file, io when its directory is damaged or its
  // members overlap, so that reading each of them once never takes more memory than the file has
  // bytes.
  explicit StoredZip(const std::filesystem::path& file);

  bool has(const std::string& name) const { return members_.count(name) > 0; }
  // The first member, in order of names, which ends with `ending`; empty when there is none.
  std::string name_ending_with(std::string_view ending) const;

  // Bytes of a member. Throws gh::Error: io when it is not there, unsupported when compressed.
  uint64_t size(const std::string& name) const;
  // Reads a whole member into `out`, which has size(name) bytes. Throws gh::Error (io) when it is
  // not what was written.
  void read(const std::string& name, char* out);
  std::string text(const std::string& name);

 private:
  struct Member {
    uint64_t header = 0;  // where its local header begins
    uint64_t size = 0;
    uint32_t checksum = 0;  // CRC-32; 0: whoever wrote the archive computed none
    bool stored = false;
  };

  const Member& member(const std::string& name) const;
  std::string bytes_at(uint64_t offset, uint64_t size);
  uint64_t data_begin(uint64_t header);
  void read_directory();
  void require_disjoint();

  std::string source_;  // for messages
  std::ifstream in_;
  uint64_t file_size_ = 0;
  std::map<std::string, Member> members_;
};

}  // namespace gh::host
