#include "run/safetensors.hpp"

#include "gh/error.hpp"
#include "run/run_directory.hpp"

#include <ATen/ops/empty.h>

#include <nlohmann/json.hpp>

#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <sstream>

namespace gh::host {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors is little-endian");

constexpr std::array<std::pair<const char*, at::ScalarType>, 10> kTypes = {{{"BOOL", at::kBool},
                                                                            {"U8", at::kByte},
                                                                            {"I8", at::kChar},
                                                                            {"I16", at::kShort},
                                                                            {"I32", at::kInt},
                                                                            {"I64", at::kLong},
                                                                            {"F16", at::kHalf},
                                                                            {"BF16", at::kBFloat16},
                                                                            {"F32", at::kFloat},
                                                                            {"F64", at::kDouble}}};
constexpr uint64_t kHeaderCap = 100'000'000;

const char* type_name(at::ScalarType type) {
  for (const auto& [name, t] : kTypes)
    if (t == type) return name;
  fail(ErrorCode::unsupported, "safetensors cannot hold tensors of type ", c10::toString(type));
}

at::ScalarType type_from(const std::string& name, const std::filesystem::path& file) {
  for (const auto& [n, type] : kTypes)
    if (name == n) return type;
  fail(ErrorCode::unsupported, file.string(), ": unknown tensor type ", name);
}

std::string slurp(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  require(in.good(), ErrorCode::missing_data, "cannot open ", file.string());
  std::ostringstream content;
  content << in.rdbuf();
  return std::move(content).str();
}

at::Tensor read_tensor(const nlohmann::json& entry, std::string_view data, const std::string& name,
                       const std::filesystem::path& file) {
  const auto shape = entry.at("shape").get<std::vector<int64_t>>();
  const auto offsets = entry.at("data_offsets").get<std::array<uint64_t, 2>>();
  require(offsets[0] <= offsets[1] && offsets[1] <= data.size(), ErrorCode::io, file.string(),
          ": tensor ", name, " lies outside the file; it is truncated or damaged");
  uint64_t elements = 1;
  for (const int64_t size : shape) {
    require(size >= 0, ErrorCode::io, file.string(), ": tensor ", name, " has a negative size");
    require(!__builtin_mul_overflow(elements, static_cast<uint64_t>(size), &elements),
            ErrorCode::io, file.string(), ": tensor ", name, " has an impossible shape");
  }
  const at::ScalarType type = type_from(entry.at("dtype").get<std::string>(), file);
  const uint64_t bytes = offsets[1] - offsets[0];
  require(elements <= data.size() && elements * c10::elementSize(type) == bytes, ErrorCode::io,
          file.string(), ": tensor ", name, " has ", bytes,
          " bytes, its shape needs another number");
  at::Tensor tensor = at::empty(shape, type);
  if (bytes > 0) std::memcpy(tensor.data_ptr(), data.data() + offsets[0], bytes);
  return tensor;
}

}  // namespace

const at::Tensor& TensorFile::at(const std::string& name) const {
  for (const auto& [n, tensor] : tensors)
    if (n == name) return tensor;
  fail(ErrorCode::missing_data, "no tensor named ", name);
}

bool TensorFile::has(const std::string& name) const {
  for (const auto& entry : tensors)
    if (entry.first == name) return true;
  return false;
}

void write_safetensors(const std::filesystem::path& file, const TensorFile& content) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!content.metadata.empty()) header["__metadata__"] = content.metadata;
  std::vector<at::Tensor> tensors;
  uint64_t offset = 0;
  for (const auto& [name, tensor] : content.tensors) {
    tensors.push_back(tensor.detach().cpu().contiguous());
    const uint64_t end = offset + tensors.back().nbytes();
    header[name] = {{"dtype", type_name(tensor.scalar_type())},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // tensors start aligned
  const uint64_t length = text.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  bytes.reserve(sizeof length + length + offset);
  bytes += text;
  for (const at::Tensor& tensor : tensors)
    bytes.append(static_cast<const char*>(tensor.data_ptr()), tensor.nbytes());
  write_file_atomically(file, bytes);
}

TensorFile read_safetensors(const std::filesystem::path& file) {
  const std::string bytes = slurp(file);
  uint64_t length = 0;
  require(bytes.size() >= sizeof length, ErrorCode::io, file.string(),
          ": not a safetensors file, too short");
  std::memcpy(&length, bytes.data(), sizeof length);
  require(length <= kHeaderCap && length <= bytes.size() - sizeof length, ErrorCode::io,
          file.string(), ": not a safetensors file, or truncated in its header");
  const std::string_view data = std::string_view(bytes).substr(sizeof length + length);
  TensorFile out;
  try {
    const auto header =
        nlohmann::ordered_json::parse(std::string_view(bytes).substr(sizeof length, length));
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__")
        out.metadata = entry.get<std::map<std::string, std::string>>();
      else
        out.tensors.emplace_back(name, read_tensor(entry, data, name, file));
    }
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorCode::io, file.string(), ": damaged safetensors header: ", error.what());
  }
  return out;
}

}  // namespace gh::host
