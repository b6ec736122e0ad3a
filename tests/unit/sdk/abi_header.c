/* gh/plugin.h as a C compiler sees it. The build compiles this as C99, pedantic, with warnings as
 * errors. */
#include "gh/plugin.h"

#include <stddef.h>

size_t gh_c_size_of_param(void);
size_t gh_c_size_of_component(void);
size_t gh_c_size_of_manifest(void);
size_t gh_c_size_of_host(void);
size_t gh_c_last_of_param(void);
size_t gh_c_last_of_component(void);
size_t gh_c_last_of_manifest(void);
size_t gh_c_last_of_host(void);

size_t gh_c_size_of_param(void) { return sizeof(gh_param_v1); }
size_t gh_c_size_of_component(void) { return sizeof(gh_component_v1); }
size_t gh_c_size_of_manifest(void) { return sizeof(gh_manifest_v1); }
size_t gh_c_size_of_host(void) { return sizeof(gh_host_v1); }
size_t gh_c_last_of_param(void) { return offsetof(gh_param_v1, reserved); }
size_t gh_c_last_of_component(void) { return offsetof(gh_component_v1, ranks); }
size_t gh_c_last_of_manifest(void) { return offsetof(gh_manifest_v1, components); }
size_t gh_c_last_of_host(void) { return offsetof(gh_host_v1, sink); }

/* A manifest can be written by hand, in C, as constant data. */
static const gh_component_v1 components[] = {{GH_KIND_DATASET, 0, GH_THREADS_ANY, 0, "x",
                                              "gh.dataset.v1", "", NULL, NULL, NULL, NULL, NULL,
                                              NULL, NULL, NULL}};
static const gh_manifest_v1 manifest = {GH_MANIFEST_MAGIC,
                                        sizeof(gh_manifest_v1),
                                        GH_SDK_MAJOR,
                                        GH_SDK_MINOR,
                                        sizeof(gh_component_v1),
                                        sizeof(gh_param_v1),
                                        1,
                                        "x",
                                        "1.0.0",
                                        "",
                                        "",
                                        "",
                                        "",
                                        "",
                                        components};

int32_t gh_c_entry(const gh_host_v1* host, const gh_manifest_v1** out);
int32_t gh_c_entry(const gh_host_v1* host, const gh_manifest_v1** out) {
  static const gh_plugin_entry_v1_fn self = gh_c_entry;
  if (self == NULL || host->size < sizeof(gh_host_v1)) {
    host->fail(host->sink, "the host is older than this plugin");
    return 1;
  }
  *out = &manifest;
  return 0;
}
