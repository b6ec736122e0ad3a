// A second network that follows the first as a moving average: target of BYOL and PMSN, key encoder
// of MoCo. It carries no gradient. Its owner visits `network()` as state and sets its mode; what
// follow() does is a function of the progress and needs none.
#pragma once

#include "gh/error.hpp"
#include "gh/host.hpp"
#include "gh/params.hpp"
#include "gh/parts/network.hpp"
#include "gh/schedule.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_lerp.h>

#include <memory>
#include <vector>

namespace gh::parts {

// What becomes of running statistics.
enum class TwinBuffers {
  own,      // left to the twin's own forwards
  copied,   // those of the online network
  averaged  // like its weights; integers are copied
};

// Whether the average of a step belongs to its end, or to the beginning of the next one ("before
// the key's forward"). The weights are the same: at the first step the networks are equal. The
// schedule is then read one step later.
enum class TwinUpdate { after_step, before_forward };

constexpr Param twin_momentum_param(const char* default_toml) {
  return real("momentum", default_toml, "of the twin at the start; it rises to 1 by half a cosine")
      .at_least(0)
      .at_most(1);
}

struct TwinSpec {
  double momentum = 0.99;
  double last_momentum = 1.0;  // at the end of the stage; half a cosine leads there
  TwinUpdate update = TwinUpdate::after_step;
  TwinBuffers buffers = TwinBuffers::own;
};

class Twin {
 public:
  // A copy of `online`, which was made from `spec` but for the purposes.
  Twin(Host& host, const Network& online, NetworkSpec spec, const TwinSpec& twin) : spec_(twin) {
    spec.encoder_purpose = "twin";
    spec.head_purpose = "twin.projector";
    network_ = std::make_shared<Network>(host, spec);
    network_->copy_from(online);
    network_->requires_grad(false);
    pair(network_->parameters(), online.parameters(), averaged_);
    if (spec_.buffers != TwinBuffers::own) pair(network_->buffers(), online.buffers(), buffers_);
  }

  // [B, …sample shape] → [B, width], without gradient.
  at::Tensor embed(const at::Tensor& x) {
    const at::NoGradGuard no_grad;
    return network_->forward(x);
  }
  const std::shared_ptr<Network>& network() const { return network_; }

  double momentum(const Progress& now) const {
    const int64_t step = now.step + (spec_.update == TwinUpdate::before_forward ? 1 : 0);
    return half_cosine(spec_.momentum, spec_.last_momentum, static_cast<double>(step),
                       static_cast<double>(now.steps));
  }
  // twin ← m·twin + (1 − m)·online; in after_update().
  void follow(const Progress& now) {
    const at::NoGradGuard no_grad;
    const double m = momentum(now);
    if (!averaged_.twin.empty()) at::_foreach_lerp_(averaged_.twin, averaged_.online, 1 - m);
    for (std::size_t i = 0; i < buffers_.twin.size(); ++i) {
      at::Tensor& own = buffers_.twin[i];
      const bool average = spec_.buffers == TwinBuffers::averaged && own.is_floating_point();
      if (average)
        own.lerp_(buffers_.online[i], 1 - m);
      else
        own.copy_(buffers_.online[i]);
    }
  }

 private:
  struct Pairs {
    std::vector<at::Tensor> twin, online;
  };
  // The modules' own handles: names are not collected anew in each step.
  static void pair(const std::vector<NamedTensor>& twin, const std::vector<NamedTensor>& online,
                   Pairs& out) {
    require(twin.size() == online.size(), ErrorCode::internal, "the twin has ", twin.size(),
            " tensors, the network ", online.size());
    for (const NamedTensor& t : twin) out.twin.push_back(t.tensor);
    for (const NamedTensor& t : online) out.online.push_back(t.tensor);
  }

  TwinSpec spec_;
  std::shared_ptr<Network> network_;
  Pairs averaged_, buffers_;
};

}  // namespace gh::parts
