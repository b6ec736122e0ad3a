// Base of methods that classify each view of a sample by itself: by labels that the data have, or
// that the whole set was given at the start of an epoch. A method is the loss of one view.
#pragma once

#include "gh/parts/online_method.hpp"

#include <string>
#include <vector>

namespace gh::parts {

class LabelledViews : public OnlineMethod {
 public:
  using OnlineMethod::OnlineMethod;

  // Scalar, of one view's embeddings [B, width]; a mean over own rows.
  virtual at::Tensor loss(const Batch& batch, const at::Tensor& z) = 0;

  void check(const RunFacts& facts, Complaints& out) const override {
    if (facts.harmonized && facts.view_shapes.size() < 2)
      out.add(".views", "GH compares two views of a sample, the recipe gives " +
                            std::to_string(facts.view_shapes.size()));
  }

  // The mean over all views of the recipe. Normalisation sees one view at a time.
  void step(const Batch& batch, Step& step) override {
    std::vector<at::Tensor> z;
    at::Tensor sum;
    for (const at::Tensor& view : batch.views) {
      z.push_back(embed(view));
      const at::Tensor one = loss(batch, z.back());
      sum = sum.defined() ? sum + one : one;
    }
    learn(step, sum / static_cast<double>(z.size()), z[0], z.size() > 1 ? z[1] : z[0]);
  }

 protected:
  // Rank 0's, for results that other processors may round otherwise. A collective.
  at::Tensor of_first_rank(const at::Tensor& rows) const {
    const at::Tensor all = host().all_gather(rows.to(host().facts().device));
    return all.narrow(0, 0, rows.size(0)).to(rows.device());
  }
};

}  // namespace gh::parts
