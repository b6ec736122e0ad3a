#include "weights/weight_file.hpp"

#include "gh/error.hpp"
#include "gh/regular_file.hpp"
#include "weights/pickle.hpp"
#include "weights/stored_zip.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <utility>

namespace gh::host {
namespace {

using Kind = PickleValue::Kind;

constexpr uint64_t kPickleCap = 256u << 20;
constexpr std::size_t kMostDimensions = 64;  // LibTorch's own limit
constexpr int kDeepest = 4;                  // dictionaries inside dictionaries

// What torch.save calls the element types of storages and tensors.
struct ElementType {
  std::string_view storage, tensor;
  at::ScalarType type;
};
constexpr std::array<ElementType, 10> kTypes = {
    {{"torch.BoolStorage", "torch.bool", at::kBool},
     {"torch.ByteStorage", "torch.uint8", at::kByte},
     {"torch.CharStorage", "torch.int8", at::kChar},
     {"torch.ShortStorage", "torch.int16", at::kShort},
     {"torch.IntStorage", "torch.int32", at::kInt},
     {"torch.LongStorage", "torch.int64", at::kLong},
     {"torch.HalfStorage", "torch.float16", at::kHalf},
     {"torch.BFloat16Storage", "torch.bfloat16", at::kBFloat16},
     {"torch.FloatStorage", "torch.float32", at::kFloat},
     {"torch.DoubleStorage", "torch.float64", at::kDouble}}};

constexpr std::array<std::string_view, 7> kWrappers = {
    "state_dict", "model_state_dict", "model", "teacher", "student", "net", "network"};

bool is_rebuild(std::string_view function) {
  return function == "torch._utils._rebuild_tensor" ||
         function == "torch._utils._rebuild_tensor_v2" ||
         function == "torch._utils._rebuild_tensor_v3";
}

// How a dense tensor is to be rebuilt: storage, offset, sizes, strides, ….
struct Recipe {
  std::string_view function;
  const std::vector<const PickleValue*>* parts = nullptr;  // null: no dense tensor
};

// Parameters, and tensors with attributes, are wrapped around one.
Recipe tensor_recipe(const PickleValue& value) {
  if (value.kind != Kind::call) return {};
  if (is_rebuild(value.text)) return {value.text, &value.items};
  const auto& parts = value.items;
  if (value.text == "torch._utils._rebuild_parameter" ||
      value.text == "torch._utils._rebuild_parameter_with_state") {
    if (!parts.empty() && parts[0]->kind == Kind::call && is_rebuild(parts[0]->text))
      return {parts[0]->text, &parts[0]->items};
  } else if (value.text == "torch._tensor._rebuild_from_type_v2") {
    if (parts.size() >= 3 && is_rebuild(parts[0]->text) && parts[2]->kind == Kind::tuple)
      return {parts[0]->text, &parts[2]->items};
  }
  return {};
}

std::size_t count_tensors(const PickleValue& dict) {
  std::size_t count = 0;
  for (std::size_t i = 1; i < dict.items.size(); i += 2)
    count += dict.items[i - 1]->kind == Kind::text && tensor_recipe(*dict.items[i]).parts;
  return count;
}

// --- which dictionary

struct Found {
  const PickleValue* dict = nullptr;
  std::string inside;
};

// Follows the usual names down; without any, takes this dictionary if it holds tensors.
Found weights_in(const PickleValue& dict, const std::string& way, int depth) {
  if (dict.kind != Kind::dict || depth > kDeepest) return {};
  const auto below = [&](std::string_view name) {
    return way.empty() ? std::string(name) : way + "." + std::string(name);
  };
  for (const std::string_view name : kWrappers)
    if (const PickleValue* inner = dict.find(name))
      if (Found found = weights_in(*inner, below(name), depth + 1); found.dict) return found;
  if (count_tensors(dict) > 0) return {&dict, way};
  // No usual name: one dictionary with tensors is still unmistakable.
  Found only;
  for (std::size_t i = 1; i < dict.items.size(); i += 2) {
    const PickleValue &key = *dict.items[i - 1], &value = *dict.items[i];
    if (key.kind != Kind::text || value.kind != Kind::dict || count_tensors(value) == 0) continue;
    if (only.dict) return {};
    only = {&value, below(key.text)};
  }
  return only;
}

std::string keys_of(const PickleValue& dict) {
  std::string out;
  for (std::size_t i = 0; i < dict.items.size() && out.size() < 200; i += 2)
    if (dict.items[i]->kind == Kind::text)
      out += (out.empty() ? "" : ", ") + dict.items[i]->text.substr(0, 60);
  return out.empty() ? "nothing" : out;
}

Found find_weights(const PickleValue& root, const std::string& source) {
  if (Found found = weights_in(root, "", 0); found.dict) return found;
  if (root.kind == Kind::opaque || root.kind == Kind::call)
    fail(ErrorCode::unsupported, source, ": holds an object of ", root.text.substr(0, 100),
         " instead of a dictionary of weights; save its state_dict()");
  require(root.kind == Kind::dict, ErrorCode::unsupported, source,
          ": holds no dictionary of weights");
  fail(ErrorCode::unsupported, source, ": no dictionary of weights found; at its top it has ",
       keys_of(root), ". Save the state_dict() alone, or under \"state_dict\"");
}

// --- tensors

// Storages of a torch.save archive, each read once and shared by the tensors that lie in it.
class Storages {
 public:
  Storages(StoredZip& zip, std::string root, const std::string& source)
      : zip_(zip), root_(std::move(root)), source_(source) {}

  // The tensor that `recipe` describes, a view of its storage.
  at::Tensor tensor(const Recipe& recipe, const std::string& name) {
    const auto& parts = *recipe.parts;
    require(parts.size() >= 4 && parts[0]->kind == Kind::persistent &&
                parts[0]->items[0]->kind == Kind::tuple && parts[0]->items[0]->items.size() == 5,
            ErrorCode::io, source_, ": damaged description of tensor ", name);
    const auto& id = parts[0]->items[0]->items;  // "storage", class, key, device, elements
    const PickleValue* dtype =
        recipe.function.ends_with("_v3") && parts.size() > 6 ? parts[6] : id[1];
    const at::Tensor storage = read(*id[2], element_type(*dtype, name), name);
    const std::vector<int64_t> sizes = integers(*parts[2], name),
                               strides = integers(*parts[3], name);
    const int64_t offset = parts[1]->kind == Kind::integer ? parts[1]->number : -1;
    require_inside(sizes, strides, offset, storage.numel(), name);
    return storage.as_strided(sizes, strides, offset);
  }

 private:
  at::ScalarType element_type(const PickleValue& named, const std::string& name) const {
    for (const ElementType& known : kTypes)
      if (named.text == known.storage || named.text == known.tensor) return known.type;
    fail(ErrorCode::unsupported, source_, ": tensor ", name, " is of ", named.text.substr(0, 100),
         "; bool, integers, float16, bfloat16, float32 and float64 are read");
  }

  at::Tensor read(const PickleValue& key, at::ScalarType type, const std::string& name) {
    require(key.kind == Kind::text, ErrorCode::io, source_, ": damaged description of tensor ",
            name);
    auto& storage = read_[key.text];
    if (!storage.defined()) {
      const std::string member = root_ + "data/" + key.text;
      const uint64_t bytes = zip_.size(member), width = c10::elementSize(type);
      require(bytes % width == 0, ErrorCode::io, source_, ": the data of tensor ", name, " has ",
              bytes, " bytes, which is no number of elements");
      storage = at::empty({static_cast<int64_t>(bytes / width)}, type);
      zip_.read(member, static_cast<char*>(storage.data_ptr()));
    }
    require(storage.scalar_type() == type, ErrorCode::io, source_, ": tensor ", name,
            " shares memory with one of another type");
    return storage;
  }

  std::vector<int64_t> integers(const PickleValue& tuple, const std::string& name) const {
    std::vector<int64_t> out;
    bool good = tuple.kind == Kind::tuple && tuple.items.size() <= kMostDimensions;
    for (std::size_t i = 0; good && i < tuple.items.size(); ++i) {
      good = tuple.items[i]->kind == Kind::integer && tuple.items[i]->number >= 0;
      out.push_back(tuple.items[i]->number);
    }
    require(good, ErrorCode::io, source_, ": tensor ", name, " has impossible sizes or strides");
    return out;
  }

  // Every element must lie inside the storage, and there may be no more of them than it has: a
  // tensor expanded to many times its memory would grow on its first copy.
  void require_inside(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                      int64_t offset, int64_t elements, const std::string& name) const {
    int64_t last = offset, count = 1;
    bool good = sizes.size() == strides.size() && offset >= 0;
    for (std::size_t i = 0; good && i < sizes.size(); ++i) {
      int64_t reach = 0;
      good = !__builtin_mul_overflow(count, sizes[i], &count) &&
             !__builtin_mul_overflow(std::max<int64_t>(sizes[i] - 1, 0), strides[i], &reach) &&
             !__builtin_add_overflow(last, reach, &last);
    }
    good = good && count <= elements && (count == 0 ? offset <= elements : last < elements);
    require(good, ErrorCode::io, source_, ": tensor ", name,
            " does not fit its data; the file is truncated or damaged");
  }

  StoredZip& zip_;
  std::string root_;
  const std::string& source_;
  std::map<std::string, at::Tensor> read_;
};

TensorFile read_torch_file(const std::filesystem::path& file) {
  const std::string source = file.string();
  StoredZip zip(file);
  const std::string pickle_name = zip.name_ending_with("/data.pkl");
  require(!pickle_name.empty(), ErrorCode::unsupported, source,
          ": a zip archive, but not one that torch.save wrote");
  const std::string root =
      pickle_name.substr(0, pickle_name.size() - std::string("data.pkl").size());
  require(!zip.has(root + "constants.pkl"), ErrorCode::unsupported, source,
          ": a TorchScript program; save the state_dict() of the model instead");
  if (zip.has(root + "byteorder"))
    require(zip.text(root + "byteorder") == "little", ErrorCode::unsupported, source,
            ": written on a big-endian machine");
  require(zip.size(pickle_name) <= kPickleCap, ErrorCode::unsupported, source,
          ": too much beside the tensors; save only the weights");

  const Pickle pickle = read_pickle(zip.text(pickle_name), source);
  const Found found = find_weights(*pickle.root, source);
  Storages storages(zip, root, source);
  TensorFile out;
  out.metadata["inside"] = found.inside;
  for (std::size_t i = 1; i < found.dict->items.size(); i += 2) {
    const PickleValue &key = *found.dict->items[i - 1], &value = *found.dict->items[i];
    const Recipe recipe = tensor_recipe(value);
    if (!recipe.parts) continue;
    require(key.kind != Kind::bytes, ErrorCode::io, source,
            ": a tensor's name is no text; the file is damaged");
    if (key.kind != Kind::text) continue;
    require(!out.has(key.text), ErrorCode::io, source, ": tensor ", key.text, " is there twice");
    out.tensors.emplace_back(key.text, storages.tensor(recipe, key.text));
  }
  return out;
}

}  // namespace

TensorFile read_weights(const std::filesystem::path& file) {
  const std::string first = read_regular_file(file.string(), 9);
  // Its length may begin with the bytes that are the marks of the others.
  if (begins_like_safetensors(first)) return read_safetensors(file);
  if (first.starts_with("PK\3\4")) return read_torch_file(file);
  const bool pickle = first.size() >= 2 && first[0] == '\x80' && first[1] >= 2 && first[1] <= 5;
  require(
      !pickle, ErrorCode::unsupported, file.string(),
      ": written by torch.save before PyTorch 1.6; load and save it once more with a newer one");
  fail(ErrorCode::unsupported, file.string(),
       ": neither a safetensors file nor one that torch.save wrote");
}

}  // namespace gh::host
