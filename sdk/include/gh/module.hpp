// Networks that cross the boundary. A gh::Module is a small tree of named parameters and buffers;
// it exists beside torch::nn::Module because that header alone costs each plugin fifteen seconds of
// compilation and draws initial weights from a global generator. Names joined with dots are the
// names in checkpoints and exports.
#pragma once

#include "gh/export.hpp"
#include "gh/state.hpp"
#include "gh/tensor.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gh {
inline namespace v1 {

struct NamedTensor {
  std::string name;
  // Shares storage with the module's.
  at::Tensor tensor;
};

// Training thread, except that forward() in evaluation mode may run on several threads.
class GH_API Module {
 public:
  Module();
  virtual ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // Own and children's tensors in registration order, names dotted.
  std::vector<NamedTensor> parameters() const;
  std::vector<NamedTensor> buffers() const;

  // Train or evaluation mode of the whole tree.
  void train(bool on = true);
  bool training() const noexcept;

  // Moves and converts every tensor in place (integer buffers keep their dtype).
  void to(at::Device device, at::ScalarType dtype);
  void requires_grad(bool on);

  // Copies values from a module with the same names and shapes; ErrorCode::shape otherwise.
  void copy_from(const Module& other);

  // Visits every parameter and buffer as "<prefix>.<name>". ErrorCode::shape when what is loaded
  // has another shape or dtype.
  void visit_state(State& state, std::string_view prefix);

  // Later abilities of a layer or encoder (feature maps, …); null unless it knows the interface.
  virtual void* query(const char* interface_id);

 protected:
  // Each returns the tensor (a handle to the registered one) or child it was given.
  at::Tensor add_parameter(std::string_view name, at::Tensor value);
  at::Tensor add_buffer(std::string_view name, at::Tensor value);
  template <class M>
  std::shared_ptr<M> add_child(std::string_view name, std::shared_ptr<M> child) {
    adopt(name, child);
    return child;
  }

 private:
  struct Impl;
  void adopt(std::string_view name, std::shared_ptr<Module> child);
  std::unique_ptr<Impl> impl_;
};

// One tensor in, one tensor out.
class GH_API Layer : public Module {
 public:
  ~Layer() override;
  virtual at::Tensor forward(const at::Tensor& x) = 0;
};

// What a backbone makes: [batch, …sample shape] → [batch, features()].
class GH_API Encoder : public Layer {
 public:
  ~Encoder() override;
  virtual int64_t features() const = 0;
};

// Layers in a row; children are named "0", "1", ….
class GH_API Sequential : public Layer {
 public:
  Sequential();
  ~Sequential() override;
  Sequential& then(std::shared_ptr<Layer> layer);
  at::Tensor forward(const at::Tensor& x) override;

 private:
  struct Chain;
  std::unique_ptr<Chain> chain_;
};

// twin ← momentum·twin + (1−momentum)·online for parameters; buffers are copied. The modules must
// match.
GH_API void average_into(Module& twin, const Module& online, double momentum);

}  // namespace v1
}  // namespace gh
