// Base of methods whose online network sees both views: a method is its loss.
#pragma once

#include "gh/parts/online_method.hpp"

namespace gh::parts {

class TwoViews : public OnlineMethod {
 public:
  using OnlineMethod::OnlineMethod;

  // Scalar, of embeddings [B, width] that are not normalised. What is trained is its mean over
  // ranks: a mean over own rows, or one number of all rows that every rank computes.
  virtual at::Tensor loss(const Batch& batch, Step& step, const at::Tensor& z1,
                          const at::Tensor& z2) = 0;

  void check(const RunFacts& facts, Complaints& out) const override {
    require_two_views(facts, out);
  }
  void step(const Batch& batch, Step& step) override {
    // Two forward calls, as the published GH code does: normalisation sees one view at a time.
    const at::Tensor z1 = embed(batch.views[0]);
    const at::Tensor z2 = embed(batch.views[1]);
    learn(step, loss(batch, step, z1, z2), z1, z2);
  }
};

}  // namespace gh::parts
