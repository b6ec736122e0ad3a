// Lists of sample positions in files: which part of a data set to keep. By the name's ending:
//   .npy   one-dimensional little-endian int64 or int32 in C order, versions 1 to 3
//   .json  an array, alone or under the key "chosen", as data.json of a run has it
//   other  text, one integer a line; empty lines are passed over
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace gh::host {

// The positions in the file's order: different, at least one, each in 0 … samples − 1. Throws
// gh::Error naming the file, and the line or entry: missing_data without the file, io when it is
// damaged or something else, invalid_param when a position is twice there or out of range.
std::vector<int64_t> read_index_file(const std::filesystem::path& file, int64_t samples);

}  // namespace gh::host
