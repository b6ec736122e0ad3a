#include "operators.hpp"

#include "kmeans.hpp"
#include "sinkhorn.hpp"

#include "gh/error.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace gh {
inline namespace v1 {
namespace ops {
namespace {

void check(cudaError_t error, const char* what) {
  require(error == cudaSuccess, ErrorCode::internal, what,
          " on the GPU: ", cudaGetErrorString(error));
}

int size(const at::Tensor& t, int64_t dimension) {
  require(t.size(dimension) <= std::numeric_limits<int>::max(), ErrorCode::shape, "a size of ",
          t.size(dimension), " is more than the kernels count to");
  return static_cast<int>(t.size(dimension));
}

at::Tensor bytes_on(const at::Tensor& like, size_t bytes) {
  return at::empty({static_cast<int64_t>(bytes)}, like.options().dtype(at::kByte));
}

// How far logits/ε may span in the linear domain, and the smallest share there, as on the CPU.
constexpr double kLinearSpan = 42, kLargestSpan = 300, kSmallestShare = 1e-25;

SinkhornDomain domain_for(double wide, const std::vector<double>& prior, SinkhornDomain asked) {
  require(std::isfinite(wide), ErrorCode::numeric, "logits/epsilon are not finite");
  require(asked != SinkhornDomain::linear || wide <= kLargestSpan, ErrorCode::numeric,
          "logits/epsilon span ", wide, ", and the linear domain holds ", kLargestSpan,
          "; take the log domain");
  const bool shares_fit = std::all_of(prior.begin(), prior.end(),
                                      [](double p) { return p == 0 || p >= kSmallestShare; });
  return asked != SinkhornDomain::log && wide <= kLinearSpan && shares_fit ? SinkhornDomain::linear
                                                                           : SinkhornDomain::log;
}

// Tensors that must live until the kernels are done.
struct Memory {
  at::Tensor logits, prior, workspace;
};

}  // namespace

std::vector<SinkhornResult> sinkhorn_on_cuda(std::span<const SinkhornProblem> problems,
                                             std::span<const std::vector<double>> priors,
                                             const SinkhornOptions& options) {
  const at::NoGradGuard no_gradient;
  const size_t count = problems.size();
  const c10::cuda::CUDAGuard guard(problems[0].logits.device());
  const cudaStream_t stream = c10::cuda::getCurrentCUDAStream();
  const cuda::SinkhornSettings settings{options.epsilon, static_cast<int>(options.iterations),
                                        options.tolerance, options.relaxation};
  size_t shared_limit = 0;
  check(cuda::shared_memory_limit(&shared_limit), "asking for the shared memory");

  std::vector<SinkhornResult> out(count);
  std::vector<Memory> memory(count);
  const at::Tensor reports = bytes_on(problems[0].logits, count * sizeof(cuda::SinkhornReport));
  auto* const report = reinterpret_cast<cuda::SinkhornReport*>(reports.data_ptr());
  const at::Tensor trace =
      at::zeros({options.trace ? static_cast<int64_t>(count) : 0, options.iterations},
                problems[0].logits.options().dtype(at::kDouble));
  std::vector<cuda::SinkhornCase> small;
  for (size_t i = 0; i < count; ++i) {
    Memory& m = memory[i];
    m.logits = problems[i].logits.detach().contiguous();
    const auto [low, high] = at::aminmax(m.logits);
    const double least = low.item<double>(), most = high.item<double>();
    require(std::isfinite(least) && std::isfinite(most), ErrorCode::numeric,
            "logits are not finite");
    out[i].domain = domain_for((most - least) / options.epsilon, priors[i], options.domain);
    out[i].targets = at::empty_like(m.logits);
    m.prior = at::tensor(priors[i], at::kDouble).to(m.logits.options());
    const cuda::SinkhornCase problem{
        m.logits.const_data_ptr<float>(),
        m.prior.const_data_ptr<float>(),
        out[i].targets.mutable_data_ptr<float>(),
        report + i,
        options.trace ? trace.mutable_data_ptr<double>() + i * options.iterations : nullptr,
        size(m.logits, 0),
        size(m.logits, 1),
        static_cast<float>((least + most) / 2)};
    const bool linear = out[i].domain == SinkhornDomain::linear;
    if (linear && cuda::sinkhorn_fits_block(problem.rows, problem.columns, shared_limit)) {
      small.push_back(problem);
      continue;
    }
    m.workspace = bytes_on(m.logits, cuda::sinkhorn_workspace(problem.rows, problem.columns));
    check(cuda::sinkhorn_in_grid(problem, settings,
                                 linear ? cuda::SinkhornScale::linear : cuda::SinkhornScale::log,
                                 m.workspace.mutable_data_ptr(), stream),
          "Sinkhorn");
  }
  check(cuda::sinkhorn_in_blocks(small, settings, shared_limit, stream), "Sinkhorn");

  const at::Tensor found = reports.cpu(), changes = trace.cpu();
  for (size_t i = 0; i < count; ++i) {
    cuda::SinkhornReport r;
    std::memcpy(&r, found.const_data_ptr<uint8_t>() + i * sizeof r, sizeof r);
    require(at::isfinite(out[i].targets).all().item<bool>(), ErrorCode::numeric,
            "the scaling left the range of float32; take the log domain");
    out[i].iterations = r.iterations;
    out[i].change = r.change;
    out[i].residual = r.residual;
    if (!options.trace) continue;
    const double* const begin = changes.const_data_ptr<double>() + i * options.iterations;
    out[i].trace.assign(begin, begin + r.iterations);
  }
  return out;
}

KMeansResult kmeans_on_cuda(const at::Tensor& x, const at::Tensor& start,
                            const KMeansOptions& options) {
  const c10::cuda::CUDAGuard guard(x.device());
  const cudaStream_t stream = c10::cuda::getCurrentCUDAStream();
  const bool spherical = options.metric == KMeansMetric::spherical;
  const auto squares = [](const at::Tensor& t, const char* name) {
    const at::Tensor sums = t.square().sum(1, /*keepdim=*/true);
    require(at::isfinite(sums).all().item<bool>(), ErrorCode::numeric, name,
            " has rows that are not finite, or too large");
    return sums;
  };
  const auto unit_rows = [](const at::Tensor& t, const at::Tensor& sums) {
    return at::where(sums > 0, t / sums.sqrt(), 0.0);
  };
  at::Tensor rows = x.contiguous(), mean;
  at::Tensor centres = start.clone(at::MemoryFormat::Contiguous);
  const at::Tensor row_squares = squares(rows, "x"), start_squares = squares(centres, "start");
  if (spherical) {
    rows = unit_rows(rows, row_squares);
    centres = unit_rows(centres, start_squares);
  } else {
    // Far from the origin, |c|²/2 − x·c would lose digits.
    mean = rows.mean(0);
    if (2 * mean.square().sum().item<double>() > row_squares.mean().item<double>()) {
      rows = rows - mean;
      centres = centres - mean;
    } else {
      mean = at::Tensor();
    }
  }
  const at::Tensor labels = at::empty({x.size(0)}, x.options().dtype(at::kInt));
  const cuda::KMeansProblem problem{
      rows.const_data_ptr<float>(),
      size(rows, 0),
      size(rows, 1),
      size(centres, 0),
      spherical ? cuda::KMeansMetric::spherical : cuda::KMeansMetric::euclidean,
      static_cast<int>(options.iterations),
      centres.mutable_data_ptr<float>(),
      labels.mutable_data_ptr<int>()};
  const at::Tensor workspace =
      bytes_on(x, cuda::kmeans_workspace(problem.rows, problem.width, problem.clusters));
  cuda::KMeansOutcome outcome{};
  check(cuda::kmeans(problem, workspace.mutable_data_ptr(), stream, &outcome), "K-means");
  KMeansResult out;
  out.centres = mean.defined() ? centres + mean : centres;
  out.labels = labels.to(at::kLong);
  out.objective = outcome.objective;
  out.iterations = outcome.iterations;
  return out;
}

}  // namespace ops
}  // namespace v1
}  // namespace gh
