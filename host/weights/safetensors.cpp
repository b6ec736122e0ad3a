#include "weights/safetensors.hpp"

#include "files/file_write.hpp"
#include "gh/error.hpp"
#include "gh/regular_file.hpp"
#include "text/json.hpp"
#include "text/plain_text.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <set>

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

// Where the bytes of a tensor lie, counted from the end of the header.
struct Extent {
  uint64_t begin = 0, end = 0;
  const std::string* name = nullptr;
};

// Sizes or offsets. The JSON library would make whole numbers of any others.
std::vector<int64_t> counts(const nlohmann::json& entry, const char* key, const std::string& name,
                            const std::filesystem::path& file) {
  std::vector<int64_t> out;
  const nlohmann::json& list = entry.at(key);
  bool good = list.is_array();
  for (std::size_t i = 0; good && i < list.size(); ++i) {
    good = list[i].is_number_unsigned() &&
           list[i].get<uint64_t>() <= std::numeric_limits<int64_t>::max();
    if (good) out.push_back(list[i].get<int64_t>());
  }
  require(good, ErrorCode::io, file.string(), ": tensor ", name, ": ", key,
          " must be a list of whole numbers, none of them negative");
  return out;
}

Extent extent_of(const nlohmann::json& entry, const std::string& name,
                 const std::filesystem::path& file) {
  const std::vector<int64_t> offsets = counts(entry, "data_offsets", name, file);
  require(offsets.size() == 2, ErrorCode::io, file.string(), ": tensor ", name, " has ",
          offsets.size(), " offsets instead of two");
  return {static_cast<uint64_t>(offsets[0]), static_cast<uint64_t>(offsets[1]), &name};
}

// Data between tensors could hold anything, and tensors that overlap are no state anybody saved.
void require_gapless(std::vector<Extent> extents, uint64_t size,
                     const std::filesystem::path& file) {
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t end = 0;
  for (const Extent& extent : extents) {
    require(extent.begin <= extent.end && extent.end <= size, ErrorCode::io, file.string(),
            ": tensor ", *extent.name, " lies outside the file; it is truncated or damaged");
    require(extent.begin == end, ErrorCode::io, file.string(), ": tensor ", *extent.name,
            extent.begin < end ? " overlaps another" : " is preceded by data of no tensor",
            "; the file is damaged");
    end = extent.end;
  }
  require(end == size, ErrorCode::io, file.string(), ": ", size - end,
          " bytes after the last tensor; the file is damaged");
}

at::Tensor read_tensor(const nlohmann::json& entry, std::string_view data, const std::string& name,
                       const std::filesystem::path& file) {
  const std::vector<int64_t> shape = counts(entry, "shape", name, file);
  uint64_t elements = 1;
  for (const int64_t size : shape)
    require(!__builtin_mul_overflow(elements, static_cast<uint64_t>(size), &elements),
            ErrorCode::io, file.string(), ": tensor ", name, " has an impossible shape");
  const at::ScalarType type = type_from(entry.at("dtype").get<std::string>(), file);
  const Extent extent = extent_of(entry, name, file);
  const uint64_t bytes = extent.end - extent.begin;
  require(elements <= data.size() && elements * c10::elementSize(type) == bytes, ErrorCode::io,
          file.string(), ": tensor ", name, " has ", bytes,
          " bytes, its shape needs another number");
  at::Tensor tensor = at::empty(shape, type);
  if (bytes > 0) std::memcpy(tensor.data_ptr(), data.data() + extent.begin, bytes);
  return tensor;
}

struct Header {
  nlohmann::json entries;          // an object
  std::vector<std::string> names;  // its keys in the order of the file
};

Header read_header(std::string_view text, const std::filesystem::path& file) {
  Header out{parse_json(text), json_keys(text)};
  require(out.entries.is_object(), ErrorCode::io, file.string(),
          ": the safetensors header is no object");
  // An object has each key once, however often the file has it.
  if (out.entries.size() == out.names.size()) return out;
  std::set<std::string_view> seen;
  for (const std::string& name : out.names)
    require(seen.insert(name).second, ErrorCode::io, file.string(), ": ", name, " is there twice");
  fail(ErrorCode::internal, file.string(), ": keys of the header were lost");
}

std::string header_text(const TensorFile& content) {
  std::string out = "{";
  const auto add = [&](const std::string& name, const std::string& value) {
    if (out.size() > 1) out += ',';
    out += json_text(nlohmann::ordered_json(name)) + ':' + value;
  };
  if (!content.metadata.empty())
    add("__metadata__", json_text(nlohmann::ordered_json(content.metadata)));
  uint64_t offset = 0;
  for (const auto& [name, tensor] : content.tensors) {
    require(valid_utf8(name) == name && name != "__metadata__", ErrorCode::unsupported,
            "a file of tensors cannot have one named ", printable(name));
    const uint64_t end = offset + tensor.nbytes();
    const nlohmann::ordered_json entry = {{"dtype", type_name(tensor.scalar_type())},
                                          {"shape", tensor.sizes().vec()},
                                          {"data_offsets", {offset, end}}};
    add(name, json_text(entry));
    offset = end;
  }
  out += '}';
  out.resize((out.size() + 7) / 8 * 8, ' ');  // tensors start aligned
  return out;
}

}  // namespace

void NamedTensors::emplace_back(const std::string& name, at::Tensor tensor) {
  require(places_.emplace(name, entries_.size()).second, ErrorCode::io, "tensor ", name,
          " is there twice");
  entries_.emplace_back(name, std::move(tensor));
}

const at::Tensor* NamedTensors::find(const std::string& name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : &entries_[found->second].second;
}

const at::Tensor& TensorFile::at(const std::string& name) const {
  const at::Tensor* found = tensors.find(name);
  require(found != nullptr, ErrorCode::missing_data, "no tensor named ", name);
  return *found;
}

bool TensorFile::has(const std::string& name) const { return tensors.find(name) != nullptr; }

void write_safetensors(const std::filesystem::path& file, const TensorFile& content) {
  const std::string header = header_text(content);
  const uint64_t length = header.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  uint64_t size = bytes.size() + header.size();
  for (const auto& entry : content.tensors) size += entry.second.nbytes();
  bytes.reserve(size);
  bytes += header;
  for (const auto& [name, tensor] : content.tensors) {
    const at::Tensor plain = tensor.detach().cpu().contiguous();
    bytes.append(static_cast<const char*>(plain.data_ptr()), plain.nbytes());
  }
  write_file_atomically(file, bytes);
}

// Old files of torch.save begin with a pickle, whose second byte is its protocol, and newer ones
// with that of a zip archive: neither has four zeros from the fifth byte on and a brace after them.
bool begins_like_safetensors(std::string_view first) {
  uint64_t length = 0;
  if (first.size() <= sizeof length || first[sizeof length] != '{') return false;
  std::memcpy(&length, first.data(), sizeof length);
  return length <= kHeaderCap;
}

TensorFile read_safetensors(const std::filesystem::path& file) {
  const std::string bytes = read_regular_file(file.string());
  uint64_t length = 0;
  require(bytes.size() >= sizeof length, ErrorCode::io, file.string(),
          ": not a safetensors file, too short");
  std::memcpy(&length, bytes.data(), sizeof length);
  require(length <= kHeaderCap && length <= bytes.size() - sizeof length, ErrorCode::io,
          file.string(), ": not a safetensors file, or truncated in its header");
  const std::string_view text = std::string_view(bytes).substr(sizeof length, length);
  const std::string_view data = std::string_view(bytes).substr(sizeof length + length);
  TensorFile out;
  try {
    const Header header = read_header(text, file);
    std::vector<Extent> extents;
    for (const std::string& name : header.names)
      if (name != "__metadata__") extents.push_back(extent_of(header.entries.at(name), name, file));
    require_gapless(std::move(extents), data.size(), file);
    for (const std::string& name : header.names) {
      const nlohmann::json& entry = header.entries.at(name);
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
