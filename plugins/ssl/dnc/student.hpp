// The network that is taught: an encoder, and a regression head for each of its teachers, the base
// and the experts.
#pragma once

#include "gh/host.hpp"
#include "gh/module.hpp"
#include "gh/ssl.hpp"
#include "gh/state.hpp"
#include "gh/tensor.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace dnc {

// Of a batch, one row a sample.
struct Lesson {
  at::Tensor groups;  // [B] int64 on the CPU
  at::Tensor base;    // [B, features], what the base makes of it
  at::Tensor expert;  // [B, features], what the expert of the sample's group makes of it
};

class Student {
 public:
  // Starts with the values of `base`; heads are drawn.
  Student(gh::Host& host, const gh::Encoder& base, int64_t experts);

  const std::shared_ptr<gh::Encoder>& encoder() const { return encoder_; }
  // What it takes for the base's representation, [B, features] rows of unit length.
  at::Tensor as_base(const at::Tensor& features) const;

  // Mean over samples of |r̂_b − t̂_b|² and |r̂_e − t̂_e|², scalars: r are the heads' outputs for the
  // base and for the expert of the sample's group, t what these teachers say, all to unit length.
  struct Errors {
    at::Tensor base, expert;
  };
  Errors errors(const at::Tensor& features, const Lesson& lesson) const;

  void train(bool on);
  void trainable(gh::Trainables& out) const;
  void visit_state(gh::State& state);

 private:
  std::shared_ptr<gh::Encoder> encoder_;
  std::vector<std::shared_ptr<gh::Layer>> heads_;  // of the base, then of the experts
};

}  // namespace dnc
