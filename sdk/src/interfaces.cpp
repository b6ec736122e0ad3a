// The home of every interface's vtable, and the defaults of functions that most components do not
// override.
#include "gh/component.hpp"

#include <limits>

namespace gh {
inline namespace v1 {

Params::~Params() = default;
State::~State() = default;
Host::~Host() = default;

Projection::~Projection() = default;
Step::~Step() = default;
Stages::~Stages() = default;
Trainables::~Trainables() = default;

void add_all(Trainables& out, const Module& module) {
  for (const NamedTensor& p : module.parameters()) out.add(p.tensor, Policy::normal, 1.0);
}

EncoderLoader::~EncoderLoader() = default;
SslMethod::~SslMethod() = default;
void SslMethod::check(const RunFacts&, Complaints&) const {}
void SslMethod::plan_stages(const RunFacts&, Stages&) const {}
void SslMethod::begin_stage(Host&) {}
at::Tensor SslMethod::stage_samples() const { return {}; }
void SslMethod::end_stage(Host&) {}
void SslMethod::begin_epoch(Host&) {}
void SslMethod::before_update(Host&) {}
void SslMethod::after_update(Host&) {}
void SslMethod::end_epoch(Host&) {}
std::shared_ptr<Encoder> SslMethod::clone_encoder(Host& host) {
  std::shared_ptr<Encoder> copy = host.make_backbone("clone", nullptr);
  copy->copy_from(*encoder());
  return copy;
}
void* SslMethod::query(const char*) { return nullptr; }

Structure::~Structure() = default;
void Structure::check(int64_t, Complaints&) const {}
double Structure::best_cosine(int64_t) const { return std::numeric_limits<double>::quiet_NaN(); }
bool Structure::learnable() const { return false; }
void* Structure::query(const char*) { return nullptr; }

AssignReport::~AssignReport() = default;
PairedAllocator::~PairedAllocator() = default;
Allocator::~Allocator() = default;
void Allocator::check(const AllocatorFacts&, Complaints&) const {}
int64_t Allocator::fit_every() const { return 0; }
at::Tensor Allocator::fit(const FitRequest&, AssignReport&) { return {}; }
void Allocator::visit_state(State&) {}
void* Allocator::query(const char*) { return nullptr; }

SampleSink::~SampleSink() = default;
Split::~Split() = default;
std::vector<std::string> Split::class_names() const { return {}; }
void* Split::query(const char*) { return nullptr; }
NamedSplit::~NamedSplit() = default;
Notices::~Notices() = default;
void Notices::missing(std::string_view message) { fail(ErrorCode::missing_data, message); }
SpeakingDataset::~SpeakingDataset() = default;
Dataset::~Dataset() = default;
void* Dataset::query(const char*) { return nullptr; }

Backbone::~Backbone() = default;
void Backbone::check(std::span<const int64_t>, Complaints&) const {}
void* Backbone::query(const char*) { return nullptr; }

Evaluation::~Evaluation() = default;
EvaluationServices::~EvaluationServices() = default;
EvaluationFiles::~EvaluationFiles() = default;
Evaluator::~Evaluator() = default;
void Evaluator::check(const EvalFacts&, Complaints&) const {}
void* Evaluator::query(const char*) { return nullptr; }

}  // namespace v1
}  // namespace gh
