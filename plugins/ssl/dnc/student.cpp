#include "student.hpp"

#include "gh/parts/contrastive.hpp"
#include "gh/parts/network.hpp"

#include <ATen/ops/where.h>

#include <string>

namespace dnc {
namespace {

using gh::parts::loss_rows;

// As wide as the representations, with a normalised hidden layer.
const gh::parts::HeadSpec kHead = {.widths = {0, 0}};

at::Tensor mean_error(const at::Tensor& prediction, const at::Tensor& target) {
  return (loss_rows(prediction) - loss_rows(target)).square().sum(1).mean();
}

}  // namespace

Student::Student(gh::Host& host, const gh::Encoder& base, int64_t experts)
    : encoder_(host.make_backbone("student", nullptr)) {
  encoder_->copy_from(base);
  for (int64_t i = 0; i <= experts; ++i)
    heads_.push_back(
        gh::parts::make_head(host, "head " + std::to_string(i), base.features(), kHead));
}

at::Tensor Student::as_base(const at::Tensor& features) const {
  return loss_rows(heads_[0]->forward(features));
}

// Every head sees the whole batch: normalisation has its statistics on every rank then, whoever has
// no sample of a group.
Student::Errors Student::errors(const at::Tensor& features, const Lesson& lesson) const {
  at::Tensor own = heads_[1]->forward(features);
  for (std::size_t i = 2; i < heads_.size(); ++i) {
    const at::Tensor rows = (lesson.groups == static_cast<int64_t>(i) - 1).to(features.device());
    own = at::where(rows.unsqueeze(1), heads_[i]->forward(features), own);
  }
  return {.base = mean_error(heads_[0]->forward(features), lesson.base),
          .expert = mean_error(own, lesson.expert)};
}

void Student::train(bool on) {
  encoder_->train(on);
  for (const auto& head : heads_) head->train(on);
}

void Student::trainable(gh::Trainables& out) const {
  add_all(out, *encoder_);
  for (const auto& head : heads_) add_all(out, *head);
}

void Student::visit_state(gh::State& state) {
  encoder_->visit_state(state, "student");
  heads_[0]->visit_state(state, "heads.base");
  for (std::size_t i = 1; i < heads_.size(); ++i)
    heads_[i]->visit_state(state, "heads." + std::to_string(i - 1));
}

}  // namespace dnc
