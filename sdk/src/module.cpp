#include "gh/module.hpp"

#include "gh/error.hpp"

#include <ATen/core/grad_mode.h>

#include <utility>

namespace gh {
inline namespace v1 {

struct Module::Impl {
  std::vector<NamedTensor> parameters;
  std::vector<NamedTensor> buffers;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> children;
  bool training = true;

  void collect(std::vector<NamedTensor> Impl::*own, const std::string& prefix,
               std::vector<NamedTensor>& out) const {
    for (const NamedTensor& t : this->*own) out.push_back({prefix + t.name, t.tensor});
    for (const auto& [name, child] : children) child->impl_->collect(own, prefix + name + ".", out);
  }

  void require_unused(std::string_view name) const {
    bool used = name.empty() || name.find('.') != std::string_view::npos;
    for (const NamedTensor& t : parameters) used = used || t.name == name;
    for (const NamedTensor& t : buffers) used = used || t.name == name;
    for (const auto& child : children) used = used || child.first == name;
    require(!used, ErrorCode::internal, "module member name '", name,
            "' is empty, contains a dot or is taken");
  }
};

Module::Module() : impl_(std::make_unique<Impl>()) {}
Module::~Module() = default;
void* Module::query(const char*) { return nullptr; }

std::vector<NamedTensor> Module::parameters() const {
  std::vector<NamedTensor> out;
  impl_->collect(&Impl::parameters, "", out);
  return out;
}

std::vector<NamedTensor> Module::buffers() const {
  std::vector<NamedTensor> out;
  impl_->collect(&Impl::buffers, "", out);
  return out;
}

void Module::train(bool on) {
  impl_->training = on;
  for (auto& child : impl_->children) child.second->train(on);
}

bool Module::training() const noexcept { return impl_->training; }

void Module::to(at::Device device, at::ScalarType dtype) {
  at::NoGradGuard no_grad;
  // set_data keeps the handle's identity: members, optimisers and the registry all see the move.
  for (NamedTensor& p : parameters()) p.tensor.set_data(p.tensor.detach().to(device, dtype));
  for (NamedTensor& b : buffers())
    b.tensor.set_data(
        b.tensor.to(device, b.tensor.is_floating_point() ? dtype : b.tensor.scalar_type()));
}

void Module::requires_grad(bool on) {
  for (NamedTensor& p : parameters()) p.tensor.set_requires_grad(on);
}

namespace {

template <class Combine>
void for_matching(const std::vector<NamedTensor>& mine, const std::vector<NamedTensor>& theirs,
                  Combine combine) {
  require(mine.size() == theirs.size(), ErrorCode::shape, "modules differ: ", mine.size(), " and ",
          theirs.size(), " tensors");
  for (std::size_t i = 0; i < mine.size(); ++i) {
    require(mine[i].name == theirs[i].name && mine[i].tensor.sizes() == theirs[i].tensor.sizes(),
            ErrorCode::shape, "modules differ at ", mine[i].name, " ", mine[i].tensor.sizes(),
            " and ", theirs[i].name, " ", theirs[i].tensor.sizes());
    combine(mine[i].tensor, theirs[i].tensor);
  }
}

}  // namespace

void Module::copy_from(const Module& other) {
  at::NoGradGuard no_grad;
  const auto copy = [](const at::Tensor& to, const at::Tensor& from) { to.detach().copy_(from); };
  for_matching(parameters(), other.parameters(), copy);
  for_matching(buffers(), other.buffers(), copy);
}

void Module::visit_state(State& state, std::string_view prefix) {
  for (auto list : {parameters(), buffers()})
    for (NamedTensor& t : list) {
      // A module's tensors are loaded in place or not at all: a replaced handle would leave the
      // module as it was.
      const at::Tensor own = t.tensor;
      const std::string name = std::string(prefix) + "." + t.name;
      state.tensor(name, t.tensor);
      require(t.tensor.is_same(own), ErrorCode::shape, "the state of ", name,
              " does not fit: the module has ", own.sizes(), " ", own.scalar_type(),
              ", the checkpoint something else");
    }
}

at::Tensor Module::add_parameter(std::string_view name, at::Tensor value) {
  impl_->require_unused(name);
  value.set_requires_grad(true);
  impl_->parameters.push_back({std::string(name), value});
  return value;
}

at::Tensor Module::add_buffer(std::string_view name, at::Tensor value) {
  impl_->require_unused(name);
  impl_->buffers.push_back({std::string(name), value});
  return value;
}

void Module::adopt(std::string_view name, std::shared_ptr<Module> child) {
  impl_->require_unused(name);
  require(child != nullptr, ErrorCode::internal, "module member '", name, "' is null");
  impl_->children.emplace_back(name, std::move(child));
}

Layer::~Layer() = default;
Encoder::~Encoder() = default;

struct Sequential::Chain {
  std::vector<std::shared_ptr<Layer>> layers;
};
Sequential::Sequential() : chain_(std::make_unique<Chain>()) {}
Sequential::~Sequential() = default;

Sequential& Sequential::then(std::shared_ptr<Layer> layer) {
  chain_->layers.push_back(add_child(std::to_string(chain_->layers.size()), std::move(layer)));
  return *this;
}

at::Tensor Sequential::forward(const at::Tensor& x) {
  at::Tensor y = x;
  for (const auto& layer : chain_->layers) y = layer->forward(y);
  return y;
}

void average_into(Module& twin, const Module& online, double momentum) {
  at::NoGradGuard no_grad;
  for_matching(twin.parameters(), online.parameters(),
               [momentum](const at::Tensor& to, const at::Tensor& from) {
                 to.detach().mul_(momentum).add_(from.detach(), 1 - momentum);
               });
  for_matching(twin.buffers(), online.buffers(),
               [](const at::Tensor& to, const at::Tensor& from) { to.detach().copy_(from); });
}

}  // namespace v1
}  // namespace gh
