#include "train/state_archive.hpp"

#include "gh/error.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>

namespace gh::host {

StateSaver::StateSaver(TensorFile& out, std::string prefix)
    : out_(out), prefix_(std::move(prefix)) {}

std::string StateSaver::full(std::string_view name) {
  std::string full_name = prefix_ + "." + std::string(name);
  require(names_.insert(full_name).second, ErrorCode::internal, "state name ", full_name,
          " is used twice");
  return full_name;
}

void StateSaver::tensor(std::string_view name, at::Tensor& value) {
  const std::string key = full(name);
  if (value.defined()) out_.tensors.emplace_back(key, value.detach());
}
void StateSaver::integer(std::string_view name, int64_t& value) {
  out_.tensors.emplace_back(full(name), at::full({}, value, at::kLong));
}
void StateSaver::real(std::string_view name, double& value) {
  out_.tensors.emplace_back(full(name), at::full({}, value, at::kDouble));
}
void StateSaver::text(std::string_view name, std::string& value) {
  out_.metadata[full(name)] = value;
}

StateLoader::StateLoader(const TensorFile& in, std::string prefix)
    : in_(in), prefix_(std::move(prefix)) {}

void StateLoader::tensor(std::string_view name, at::Tensor& value) {
  const std::string key = prefix_ + "." + std::string(name);
  if (!in_.has(key)) {
    value.reset();
    return;
  }
  const at::Tensor& stored = in_.at(key);
  at::NoGradGuard no_grad;
  if (value.defined() && value.sizes() == stored.sizes() &&
      value.scalar_type() == stored.scalar_type())
    value.detach().copy_(stored);
  else
    value = stored.clone();
}

void StateLoader::integer(std::string_view name, int64_t& value) {
  value = in_.at(prefix_ + "." + std::string(name)).item<int64_t>();
}
void StateLoader::real(std::string_view name, double& value) {
  value = in_.at(prefix_ + "." + std::string(name)).item<double>();
}
void StateLoader::text(std::string_view name, std::string& value) {
  const auto found = in_.metadata.find(prefix_ + "." + std::string(name));
  require(found != in_.metadata.end(), ErrorCode::io, "the saved state has no text ", prefix_, ".",
          name);
  value = found->second;
}

}  // namespace gh::host
