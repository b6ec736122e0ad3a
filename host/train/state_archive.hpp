// Named state of components, gathered into one file and read back.
#pragma once

#include "weights/safetensors.hpp"

#include "gh/state.hpp"

#include <set>
#include <string>

namespace gh::host {

// Collects what a component visits under "<prefix>.". Tensors share storage with the component.
class StateSaver final : public State {
 public:
  StateSaver(TensorFile& out, std::string prefix);
  bool loading() const override { return false; }
  void tensor(std::string_view name, at::Tensor& value) override;
  void integer(std::string_view name, int64_t& value) override;
  void real(std::string_view name, double& value) override;
  void text(std::string_view name, std::string& value) override;

 private:
  std::string full(std::string_view name);  // throws when used before
  TensorFile& out_;
  std::string prefix_;
  std::set<std::string> names_;
};

// Gives a component back what StateSaver collected. Throws gh::Error (io) naming what is missing or
// of another shape.
class StateLoader final : public State {
 public:
  StateLoader(const TensorFile& in, std::string prefix);
  bool loading() const override { return true; }
  void tensor(std::string_view name, at::Tensor& value) override;
  void integer(std::string_view name, int64_t& value) override;
  void real(std::string_view name, double& value) override;
  void text(std::string_view name, std::string& value) override;

 private:
  const TensorFile& in_;
  std::string prefix_;
};

}  // namespace gh::host
