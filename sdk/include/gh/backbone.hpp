// The contract of a backbone: a factory of encoders. Methods ask for several (EMA twins, experts),
// so it keeps no state.
#pragma once

#include "gh/error.hpp"
#include "gh/layers.hpp"
#include "gh/params.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace gh {
inline namespace v1 {

// Host to plugin; later minors append.
struct BackboneRequest {
  // [D] or [C,H,W].
  std::span<const int64_t> sample_shape;
  // Where every layer with parameters comes from; never null.
  LayerFactory* layers = nullptr;
  // Initial weights.
  Random random{0};
};

// Building thread.
class GH_API Backbone {
 public:
  virtual ~Backbone();
  // Complains about samples it cannot take.
  virtual void check(std::span<const int64_t> sample_shape, Complaints& out) const;
  // A new encoder on the CPU in float32; the host moves it.
  virtual std::shared_ptr<Encoder> make(const BackboneRequest& request) const = 0;
  virtual void* query(const char* interface_id);
};

}  // namespace v1
}  // namespace gh
