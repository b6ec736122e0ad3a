// How a C++ plugin declares itself, at the end of its source:
//
//   constexpr gh::Component kComponents[] = {
//       gh::describe<Simclr>("simclr", "SimCLR with NT-Xent", kParams),
//   };
//   GH_PLUGIN(kComponents, .license = "MIT", .authors = "…", .doc = "…")
//
// Name and version come from gh_add_plugin() in the plugin's CMakeLists.txt.
#pragma once

#include "gh/allocator.hpp"
#include "gh/backbone.hpp"
#include "gh/dataset.hpp"
#include "gh/evaluator.hpp"
#include "gh/plugin.h"
#include "gh/ssl.hpp"
#include "gh/structure.hpp"

#include <type_traits>

// Defined in the source that gh_add_plugin() adds to every plugin.
extern "C" __attribute__((visibility("hidden"))) const char* gh_plugin_fingerprint(void);

namespace gh {
inline namespace v1 {

template <class Interface>
struct InterfaceOf;
#define GH_INTERFACE(type, number, text)    \
  template <>                               \
  struct InterfaceOf<type> {                \
    static constexpr gh_kind kind = number; \
    static constexpr const char* id = text; \
  }
GH_INTERFACE(SslMethod, GH_KIND_SSL, "gh.ssl.v1");
GH_INTERFACE(Structure, GH_KIND_STRUCTURE, "gh.structure.v1");
GH_INTERFACE(Allocator, GH_KIND_ALLOCATOR, "gh.allocator.v1");
GH_INTERFACE(Dataset, GH_KIND_DATASET, "gh.dataset.v1");
GH_INTERFACE(Backbone, GH_KIND_BACKBONE, "gh.backbone.v1");
GH_INTERFACE(Evaluator, GH_KIND_EVALUATOR, "gh.evaluator.v1");
#undef GH_INTERFACE

template <class T>
constexpr auto interface_of() {
  if constexpr (std::is_base_of_v<SslMethod, T>)
    return std::type_identity<SslMethod>{};
  else if constexpr (std::is_base_of_v<Structure, T>)
    return std::type_identity<Structure>{};
  else if constexpr (std::is_base_of_v<Allocator, T>)
    return std::type_identity<Allocator>{};
  else if constexpr (std::is_base_of_v<Dataset, T>)
    return std::type_identity<Dataset>{};
  else if constexpr (std::is_base_of_v<Backbone, T>)
    return std::type_identity<Backbone>{};
  else {
    static_assert(std::is_base_of_v<Evaluator, T>,
                  "a component derives from one of the six SDK interfaces");
    return std::type_identity<Evaluator>{};
  }
}

#if GH_SDK_MINOR >= 1
// What tables of components say of one, beside its parameters. Null: not said. Since 1.1.
struct ComponentFacts {
  // Where it was published: "Grill et al., NeurIPS 2020".
  const char* paper = nullptr;
  // How many views of a sample a method takes: "2".
  const char* views = nullptr;
  // First parts of the names in visit_state(), joined by ", "; behind "; " those that only some
  // parameters bring.
  const char* state = nullptr;
  // What several ranks share beside gradients and the statistics of normalisation.
  const char* ranks = nullptr;
};
#endif

struct Component : gh_component_v1 {
  constexpr Component with_flags(uint32_t more) const {
    Component c = *this;
    c.flags |= more;
    return c;
  }
  constexpr Component on_threads(gh_threads which) const {
    Component c = *this;
    c.threads = which;
    return c;
  }
#if GH_SDK_MINOR >= 1
  constexpr Component with_facts(const ComponentFacts& facts) const {
    Component c = *this;
    c.paper = facts.paper;
    c.views = facts.views;
    c.state = facts.state;
    c.ranks = facts.ranks;
    return c;
  }
#endif
};
static_assert(sizeof(Component) == sizeof(gh_component_v1));

// T has a constructor from const Params&, and optionally
//   static void validate(const Params& params, Complaints& out);
template <class T>
constexpr Component describe(const char* id, const char* doc, const Param* params,
                             uint32_t param_count) {
  using Interface = typename decltype(interface_of<T>())::type;
  Component c{};
  c.kind = InterfaceOf<Interface>::kind;
  c.interface_id = InterfaceOf<Interface>::id;
  c.id = id;
  c.doc = doc;
  c.params = params;
  c.param_count = param_count;
  // Loader threads read it.
  if constexpr (std::is_same_v<Interface, Dataset>) c.threads = GH_THREADS_ANY;
  c.create = [](const void* p) -> void* {
    return static_cast<Interface*>(new T(*static_cast<const Params*>(p)));
  };
  c.destroy = [](void* object) { delete static_cast<Interface*>(object); };
  if constexpr (requires(const Params& p, Complaints& out) { T::validate(p, out); })
    c.validate = [](const void* p, void* out) {
      T::validate(*static_cast<const Params*>(p), *static_cast<Complaints*>(out));
    };
  return c;
}
template <class T, std::size_t N>
constexpr Component describe(const char* id, const char* doc, const Param (&params)[N]) {
  return describe<T>(id, doc, params, N);
}
template <class T>
constexpr Component describe(const char* id, const char* doc) {
  return describe<T>(id, doc, nullptr, 0);
}

struct PluginFacts {
  const char* license = "";
  const char* authors = "";
  const char* url = "";
  const char* doc = "";
};

template <std::size_t N>
gh_manifest_v1 make_manifest(const Component (&components)[N], const char* name,
                             const char* version, const PluginFacts& facts) {
  gh_manifest_v1 m{};
  m.magic = GH_MANIFEST_MAGIC;
  m.size = sizeof(gh_manifest_v1);
  m.sdk_major = GH_SDK_MAJOR;
  m.sdk_minor = GH_SDK_MINOR;
  m.component_size = sizeof(gh_component_v1);
  m.param_size = sizeof(gh_param_v1);
  m.component_count = N;
  m.name = name;
  m.version = version;
  m.license = facts.license;
  m.authors = facts.authors;
  m.url = facts.url;
  m.doc = facts.doc;
  m.fingerprint = gh_plugin_fingerprint();
  m.components = components;
  return m;
}

}  // namespace v1
}  // namespace gh

#define GH_PLUGIN(components, ...)                                                    \
  extern "C" __attribute__((visibility("default"))) int32_t gh_plugin_entry_v1(       \
      const gh_host_v1*, const gh_manifest_v1** manifest) {                           \
    static const gh_manifest_v1 kManifest = gh::make_manifest(                        \
        components, GH_PLUGIN_NAME, GH_PLUGIN_VERSION, gh::PluginFacts{__VA_ARGS__}); \
    *manifest = &kManifest;                                                           \
    return 0;                                                                         \
  }
