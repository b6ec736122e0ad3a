/* The binary door between ghhost and a plugin, in C.
 *
 * A plugin exports one symbol, gh_plugin_entry_v1, and hands back a manifest: constant data that
 * says which components it holds, what they are for and which parameters they take. The host can
 * list, document and validate a plugin from it without constructing anything. C++ authors never
 * fill these structs by hand; see gh/component.hpp.
 *
 * Frozen: the order and size of every field below. Later minors append fields at the end of a
 * struct; the sizes carried in the manifest tell the host how much of each struct the plugin knows.
 * All pointers have static storage.
 */
#ifndef GH_PLUGIN_H
#define GH_PLUGIN_H

#include <stdint.h>

#define GH_SDK_MAJOR 1
/* The newest minor that a plugin uses. One that is to load in older hosts, too, defines
 * GH_SDK_TARGET before any header of the SDK; what came later is then not declared. Since 1.1. */
#ifndef GH_SDK_TARGET
#define GH_SDK_TARGET 1
#endif
#if GH_SDK_TARGET < 0 || GH_SDK_TARGET > 1
#error "GH_SDK_TARGET: this SDK is 1.1"
#endif
#define GH_SDK_MINOR GH_SDK_TARGET

#define GH_MANIFEST_MAGIC UINT64_C(0x315f4d5f54534f48) /* "HOST_M_1", little endian */
#define GH_ENTRY_SYMBOL "gh_plugin_entry_v1"

#ifdef __cplusplus
extern "C" {
#endif

enum gh_kind {
  GH_KIND_SSL = 1,
  GH_KIND_STRUCTURE = 2,
  GH_KIND_ALLOCATOR = 3,
  GH_KIND_DATASET = 4,
  GH_KIND_BACKBONE = 5,
  GH_KIND_EVALUATOR = 6
};

enum gh_param_kind {
  GH_PARAM_BOOL = 1,
  GH_PARAM_INT = 2,
  GH_PARAM_FLOAT = 3,
  GH_PARAM_STRING = 4,
  GH_PARAM_CHOICE = 5,
  GH_PARAM_PATH = 6,
  GH_PARAM_INT_LIST = 7,
  GH_PARAM_FLOAT_LIST = 8,
  GH_PARAM_STRING_LIST = 9,
  GH_PARAM_TABLE = 10,
  GH_PARAM_PATH_LIST = 11 /* since 1.1 */
};

/* Flags of a parameter. Bounds hold for a number or for every element of a list of numbers. */
enum gh_param_flags {
  GH_PARAM_HAS_MIN = 1u << 0,
  GH_PARAM_HAS_MAX = 1u << 1,
  GH_PARAM_MIN_OPEN = 1u << 2, /* the bound itself is excluded */
  GH_PARAM_MAX_OPEN = 1u << 3,
  GH_PARAM_OPTIONAL = 1u << 4 /* may be absent although it has no default */
};

/* Flags of a component. */
enum gh_component_flags {
  /* The host hands it labels; it withholds them from every other component. */
  GH_SEES_LABELS = 1u << 0,
  /* Same recipe and seed may give other numbers; recorded in the run. */
  GH_NONDETERMINISTIC = 1u << 1
};

/* Which threads may call a component. */
enum gh_threads {
  GH_THREADS_TRAINING = 0, /* only the training thread */
  GH_THREADS_ANY = 1       /* const member functions from any number of threads at once */
};

typedef struct gh_param_v1 {
  uint32_t kind;            /* gh_param_kind */
  uint32_t flags;           /* gh_param_flags */
  const char* name;         /* TOML key: [a-z][a-z0-9_]* */
  const char* doc;          /* one sentence, no trailing period */
  const char* unit;         /* "epochs", "degrees", … or null */
  const char* default_toml; /* default as TOML text, or null: required unless GH_PARAM_OPTIONAL */
  double min;
  double max;
  const char* choices;              /* GH_PARAM_CHOICE: "a|b|c" */
  const char* replaces;             /* former name, still accepted with a warning, or null */
  const char* since;                /* plugin version that introduced it, or null */
  const struct gh_param_v1* fields; /* GH_PARAM_TABLE: its parameters */
  uint32_t field_count;
  uint32_t reserved;
} gh_param_v1;

typedef struct gh_component_v1 {
  uint32_t kind;    /* gh_kind */
  uint32_t flags;   /* gh_component_flags */
  uint32_t threads; /* gh_threads */
  uint32_t param_count;
  const char* id;           /* what a recipe writes as `id`: [a-z][a-z0-9_.-]* */
  const char* interface_id; /* "gh.ssl.v1", … */
  const char* doc;
  const gh_param_v1* params;
  /* `params` is a const gh::Params*. Returns the interface pointer of its kind; may throw, and is
   * called only after the fingerprint matched. */
  void* (*create)(const void* params);
  void (*destroy)(void* component);
  /* Rules across parameters, or null. `params` is a const gh::Params*, `complaints` a
   * gh::Complaints*. */
  void (*validate)(const void* params, void* complaints);
#if GH_SDK_MINOR >= 1
  /* Since 1.1: what tables of components say of it, each text or null. See gh::ComponentFacts. */
  const char* paper;
  const char* views;
  const char* state;
  const char* ranks;
#endif
} gh_component_v1;

typedef struct gh_manifest_v1 {
  uint64_t magic; /* GH_MANIFEST_MAGIC */
  uint32_t size;  /* sizeof(gh_manifest_v1) as the plugin knew it */
  uint32_t sdk_major;
  uint32_t sdk_minor;
  uint32_t component_size; /* sizeof(gh_component_v1), the stride of `components` */
  uint32_t param_size;     /* sizeof(gh_param_v1), the stride of every `params` */
  uint32_t component_count;
  const char* name;
  const char* version; /* of the plugin, MAJOR.MINOR.PATCH */
  const char* license;
  const char* authors;
  const char* url;
  const char* doc;
  const char* fingerprint; /* the same text as in the ELF note */
  const gh_component_v1* components;
} gh_manifest_v1;

typedef struct gh_host_v1 {
  uint32_t size; /* sizeof(gh_host_v1) as the host knows it */
  uint32_t sdk_major;
  uint32_t sdk_minor;
  uint32_t reserved;
  void (*fail)(void* sink, const char* message); /* says why the entry returns non-zero */
  void* sink;
} gh_host_v1;

/* Returns 0 and sets *manifest, or non-zero after calling host->fail. Must not throw, print, start
 * threads or exit. */
typedef int32_t (*gh_plugin_entry_v1_fn)(const gh_host_v1* host, const gh_manifest_v1** manifest);

#ifdef __cplusplus
}
#endif

#endif
