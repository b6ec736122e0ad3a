// A manifest with strange numbers and texts in any of its fields: copied, or refused. Pointers are
// null or good, and arrays as long as they say: others cannot be told apart without running into
// them, which is what the child process is for.
#include "fuzz/target.hpp"
#include "plugins/plugin_error.hpp"
#include "plugins/plugin_loader.hpp"

#include <deque>

using namespace gh::host;
using gh::test::Bytes;

namespace {

// Takes the input apart; where it has ended, everything is as usual.
class Fields {
 public:
  Fields(const uint8_t* data, std::size_t size) : data_(data), end_(data + size) {}

  uint8_t byte() { return data_ == end_ ? uint8_t{0} : *data_++; }

  template <class T>
  T number(T usual) {
    if (byte() < 240) return usual;
    T value{};
    for (std::size_t i = 0; i < sizeof value; ++i) reinterpret_cast<uint8_t*>(&value)[i] = byte();
    return value;
  }

  const char* text(const char* usual) {
    const uint8_t choice = byte();
    if (choice < 200) return usual;
    if (choice < 208) return nullptr;
    std::string& own = texts_.emplace_back();
    for (int length = byte() % 64; length > 0; --length) own += static_cast<char>(byte());
    return own.c_str();
  }

  // `count` structs, `stride` bytes apart, of which each has no more than its stride.
  template <class T>
  const T* array(const std::vector<T>& items, std::size_t stride) {
    if (stride > sizeof(T)) stride = sizeof(T);  // refused before it is looked at
    Bytes& bytes = arrays_.emplace_back(items.size() * stride + sizeof(T));
    for (std::size_t i = 0; i < items.size(); ++i)
      std::memcpy(bytes.data() + i * stride, &items[i], stride);
    return reinterpret_cast<const T*>(bytes.data());
  }

 private:
  const uint8_t* data_;
  const uint8_t* end_;
  std::deque<std::string> texts_;
  std::deque<Bytes> arrays_;
};

std::vector<gh_param_v1> params(Fields& fields, std::size_t stride, int depth) {
  static const char* const kNames[] = {"alpha", "beta", "gamma", "delta"};
  static const char* const kDefaults[] = {"1",    "true", "2",    "0.5",     "\"x\"", "\"a\"",
                                          "\"\"", "[1]",  "[.5]", "[\"t\"]", "{}"};
  std::vector<gh_param_v1> out(fields.byte() % 5);
  for (std::size_t i = 0; i < out.size(); ++i) {
    gh_param_v1& p = out[i];
    p.kind = fields.number<uint32_t>(fields.byte() % 12);
    p.flags = fields.number<uint32_t>(fields.byte());
    p.name = fields.text(kNames[i % 4]);
    p.doc = fields.text("a parameter");
    p.unit = fields.text(nullptr);
    p.default_toml = fields.text(kDefaults[p.kind < 11 ? p.kind : 0]);
    p.min = fields.number<double>(0);
    p.max = fields.number<double>(10);
    p.choices = fields.text("a|b");
    p.replaces = fields.text(nullptr);
    p.since = fields.text(nullptr);
    if (depth == 0) continue;
    const std::vector<gh_param_v1> inner = params(fields, stride, depth - 1);
    p.fields = fields.array(inner, stride);
    p.field_count = fields.byte() < 250 ? static_cast<uint32_t>(inner.size()) : ~0u;
  }
  return out;
}

gh_component_v1 component(Fields& fields, std::size_t stride, std::size_t index) {
  static const char* const kIds[] = {"one", "two", "three"};
  static const char* const kInterfaces[] = {"",
                                            "gh.ssl.v1",
                                            "gh.structure.v1",
                                            "gh.allocator.v1",
                                            "gh.dataset.v1",
                                            "gh.backbone.v1",
                                            "gh.evaluator.v1",
                                            ""};
  gh_component_v1 c{};
  c.kind = fields.number<uint32_t>(1 + fields.byte() % 6);
  c.flags = fields.number<uint32_t>(0);
  c.threads = fields.number<uint32_t>(0);
  c.id = fields.text(kIds[index % 3]);
  c.interface_id = fields.text(kInterfaces[c.kind < 7 ? c.kind : 0]);
  c.doc = fields.text("a component");
  const std::vector<gh_param_v1> own = params(fields, stride, 2);
  c.params = fields.array(own, stride);
  c.param_count = fields.byte() < 250 ? static_cast<uint32_t>(own.size()) : 5000;
  c.create = fields.byte() < 250 ? +[](const void*) -> void* { return nullptr; } : nullptr;
  c.destroy = fields.byte() < 250 ? +[](void*) {} : nullptr;
  c.paper = fields.text(nullptr);
  c.views = fields.text(nullptr);
  c.state = fields.text(nullptr);
  c.ranks = fields.text(nullptr);
  return c;
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  Fields fields(data, size);
  gh_manifest_v1 manifest{};
  manifest.magic = fields.number<uint64_t>(GH_MANIFEST_MAGIC);
  manifest.size = fields.number<uint32_t>(sizeof manifest);
  manifest.sdk_major = fields.number<uint32_t>(1);
  manifest.sdk_minor = fields.number<uint32_t>(0);
  manifest.component_size = fields.number<uint32_t>(sizeof(gh_component_v1));
  manifest.param_size = fields.number<uint32_t>(sizeof(gh_param_v1));
  manifest.name = fields.text("plugin");
  manifest.version = fields.text("1.2.3");
  manifest.license = fields.text("MIT");
  manifest.authors = fields.text("somebody");
  manifest.url = fields.text("");
  manifest.doc = fields.text("a plugin");
  manifest.fingerprint = fields.text("sdk=1.0\n");
  std::vector<gh_component_v1> components(1 + fields.byte() % 3);
  PluginNote note;
  for (std::size_t i = 0; i < components.size(); ++i) {
    components[i] = component(fields, manifest.param_size, i);
    static const char* const kKinds[] = {"",        "ssl",      "structure", "allocator",
                                         "dataset", "backbone", "evaluator"};
    const uint32_t kind = components[i].kind < 7 ? components[i].kind : 0;
    note.provides.push_back(std::string(kKinds[kind]) + "/" +
                            (components[i].id ? components[i].id : ""));
  }
  manifest.components = fields.array(components, manifest.component_size);
  manifest.component_count = fields.byte() < 250 ? static_cast<uint32_t>(components.size()) : 5000;
  note.name = "plugin";
  note.version = "1.2.3";
  note.text = "sdk=1.0\n";
  note.fingerprint["sdk"] = "1.0";
  try {
    LoadedPlugin copied;
    copy_manifest(&manifest, note, copied);
    if (copied.components.size() != components.size()) std::abort();
  } catch (const PluginRefused& refused) {
    if (std::strlen(refused.what()) == 0) std::abort();
  }
  return 0;
}
