// What SDK 1.0 promised about memory. A failure here means that plugins already built would read or
// call the wrong thing: undo the change, or append instead. New minors add lines; nobody edits one.
// See docs/abi-policy.md.
#include "gh/component.hpp"
#include "gh/digest.hpp"
#include "gh/plot.hpp"

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

// Implemented in abi_header.c: what a C compiler makes of the same structs.
extern "C" {
size_t gh_c_size_of_param(void);
size_t gh_c_size_of_component(void);
size_t gh_c_size_of_manifest(void);
size_t gh_c_size_of_host(void);
size_t gh_c_last_of_param(void);
size_t gh_c_last_of_component(void);
size_t gh_c_last_of_manifest(void);
size_t gh_c_last_of_host(void);
}

// A std::function has no standard layout, and neither has a struct that holds one; the compilers of
// the fingerprint lay them out alike all the same.
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
#define GH_AT(type, member, offset) \
  static_assert(offsetof(type, member) == (offset), #type "::" #member " has moved")
// A struct may grow in a later minor only.
#define GH_SIZE(type, bytes)                                                             \
  static_assert(sizeof(type) == (bytes) || (GH_SDK_MINOR > 0 && sizeof(type) > (bytes)), \
                #type " has another size")
// A struct that plugins hold or pass without its size never grows.
#define GH_FIXED(type, bytes) static_assert(sizeof(type) == (bytes), #type " has another size")

// --- the C door ---------------------------------------------------------------------------------

static_assert(GH_SDK_MAJOR == 1);
static_assert(GH_MANIFEST_MAGIC == 0x315f4d5f54534f48u);

GH_AT(gh_param_v1, kind, 0);
GH_AT(gh_param_v1, flags, 4);
GH_AT(gh_param_v1, name, 8);
GH_AT(gh_param_v1, doc, 16);
GH_AT(gh_param_v1, unit, 24);
GH_AT(gh_param_v1, default_toml, 32);
GH_AT(gh_param_v1, min, 40);
GH_AT(gh_param_v1, max, 48);
GH_AT(gh_param_v1, choices, 56);
GH_AT(gh_param_v1, replaces, 64);
GH_AT(gh_param_v1, since, 72);
GH_AT(gh_param_v1, fields, 80);
GH_AT(gh_param_v1, field_count, 88);
GH_AT(gh_param_v1, reserved, 92);
GH_SIZE(gh_param_v1, 96);

GH_AT(gh_component_v1, kind, 0);
GH_AT(gh_component_v1, flags, 4);
GH_AT(gh_component_v1, threads, 8);
GH_AT(gh_component_v1, param_count, 12);
GH_AT(gh_component_v1, id, 16);
GH_AT(gh_component_v1, interface_id, 24);
GH_AT(gh_component_v1, doc, 32);
GH_AT(gh_component_v1, params, 40);
GH_AT(gh_component_v1, create, 48);
GH_AT(gh_component_v1, destroy, 56);
GH_AT(gh_component_v1, validate, 64);
GH_AT(gh_component_v1, paper, 72);  // since 1.1
GH_AT(gh_component_v1, views, 80);
GH_AT(gh_component_v1, state, 88);
GH_AT(gh_component_v1, ranks, 96);
GH_SIZE(gh_component_v1, 104);

GH_AT(gh_manifest_v1, magic, 0);
GH_AT(gh_manifest_v1, size, 8);
GH_AT(gh_manifest_v1, sdk_major, 12);
GH_AT(gh_manifest_v1, sdk_minor, 16);
GH_AT(gh_manifest_v1, component_size, 20);
GH_AT(gh_manifest_v1, param_size, 24);
GH_AT(gh_manifest_v1, component_count, 28);
GH_AT(gh_manifest_v1, name, 32);
GH_AT(gh_manifest_v1, version, 40);
GH_AT(gh_manifest_v1, license, 48);
GH_AT(gh_manifest_v1, authors, 56);
GH_AT(gh_manifest_v1, url, 64);
GH_AT(gh_manifest_v1, doc, 72);
GH_AT(gh_manifest_v1, fingerprint, 80);
GH_AT(gh_manifest_v1, components, 88);
GH_SIZE(gh_manifest_v1, 96);

GH_AT(gh_host_v1, size, 0);
GH_AT(gh_host_v1, sdk_major, 4);
GH_AT(gh_host_v1, sdk_minor, 8);
GH_AT(gh_host_v1, reserved, 12);
GH_AT(gh_host_v1, fail, 16);
GH_AT(gh_host_v1, sink, 24);
GH_SIZE(gh_host_v1, 32);

static_assert(std::is_same_v<decltype(gh_component_v1::create), void* (*)(const void*)>);
static_assert(std::is_same_v<decltype(gh_component_v1::destroy), void (*)(void*)>);
static_assert(std::is_same_v<decltype(gh_component_v1::validate), void (*)(const void*, void*)>);
static_assert(std::is_same_v<decltype(gh_host_v1::fail), void (*)(void*, const char*)>);
static_assert(
    std::is_same_v<gh_plugin_entry_v1_fn, int32_t (*)(const gh_host_v1*, const gh_manifest_v1**)>);

static_assert(GH_KIND_SSL == 1 && GH_KIND_STRUCTURE == 2 && GH_KIND_ALLOCATOR == 3);
static_assert(GH_KIND_DATASET == 4 && GH_KIND_BACKBONE == 5 && GH_KIND_EVALUATOR == 6);
static_assert(GH_PARAM_BOOL == 1 && GH_PARAM_INT == 2 && GH_PARAM_FLOAT == 3 &&
              GH_PARAM_STRING == 4);
static_assert(GH_PARAM_CHOICE == 5 && GH_PARAM_PATH == 6 && GH_PARAM_INT_LIST == 7);
static_assert(GH_PARAM_FLOAT_LIST == 8 && GH_PARAM_STRING_LIST == 9 && GH_PARAM_TABLE == 10);
static_assert(GH_PARAM_PATH_LIST == 11);
static_assert(GH_PARAM_HAS_MIN == 1 && GH_PARAM_HAS_MAX == 2 && GH_PARAM_MIN_OPEN == 4);
static_assert(GH_PARAM_MAX_OPEN == 8 && GH_PARAM_OPTIONAL == 16);
static_assert(GH_SEES_LABELS == 1 && GH_NONDETERMINISTIC == 2);
static_assert(GH_THREADS_TRAINING == 0 && GH_THREADS_ANY == 1);

// --- enumerations -------------------------------------------------------------------------------

template <class Enum>
constexpr int value(Enum e) {
  static_assert(std::is_same_v<std::underlying_type_t<Enum>, int>);
  return static_cast<int>(e);
}
using gh::ErrorCode;
static_assert(value(ErrorCode::invalid_param) == 1 && value(ErrorCode::shape) == 2);
static_assert(value(ErrorCode::numeric) == 3 && value(ErrorCode::io) == 4);
static_assert(value(ErrorCode::missing_data) == 5 && value(ErrorCode::unsupported) == 6);
static_assert(value(ErrorCode::out_of_memory) == 7 && value(ErrorCode::internal) == 8);
static_assert(value(ErrorCode::interrupted) == 9);
static_assert(value(gh::Init::torch_default) == 0 && value(gh::Init::kaiming_fan_out) == 1);
static_assert(value(gh::Policy::normal) == 0 && value(gh::Policy::no_decay) == 1);
static_assert(value(gh::Policy::fixed_rate) == 2);
static_assert(value(gh::Severity::detail) == 0 && value(gh::Severity::info) == 1);
static_assert(value(gh::Severity::warning) == 2);
static_assert(value(gh::TargetKind::none) == 0 && value(gh::TargetKind::classes) == 1);
static_assert(value(gh::TargetKind::multi) == 2 && value(gh::TargetKind::real) == 3);
static_assert(value(gh::FeatureLevel::input) == 0 && value(gh::FeatureLevel::backbone) == 1);
static_assert(value(gh::FeatureLevel::embedding) == 2 && value(gh::FeatureLevel::none) == 3);

// --- structs that cross -------------------------------------------------------------------------

#if defined(__GLIBCXX__) && defined(__LP64__)
GH_AT(gh::RunFacts, samples, 0);
GH_AT(gh::RunFacts, batch, 8);
GH_AT(gh::RunFacts, accumulate, 16);
GH_AT(gh::RunFacts, steps_per_epoch, 24);
GH_AT(gh::RunFacts, epochs, 32);
GH_AT(gh::RunFacts, seed, 40);
GH_AT(gh::RunFacts, rank, 48);
GH_AT(gh::RunFacts, world, 56);
GH_AT(gh::RunFacts, device, 64);
GH_AT(gh::RunFacts, dtype, 66);
GH_AT(gh::RunFacts, view_shapes, 72);
GH_AT(gh::RunFacts, harmonized, 96);
GH_AT(gh::RunFacts, per_sample, 104);
GH_AT(gh::RunFacts, class_counts, 128);
GH_SIZE(gh::RunFacts, 152);
GH_AT(gh::RunFacts, harmonize_mode, 152);
GH_AT(gh::RunFacts, harmonize_apply, 184);
GH_AT(gh::RunFacts, harmonize_points, 216);
GH_AT(gh::RunFacts, drop_last, 224);
GH_AT(gh::RunFacts, sync_norm, 225);
GH_AT(gh::RunFacts, convolution, 232);

GH_AT(gh::Progress, stage, 0);
GH_AT(gh::Progress, stage_index, 32);
GH_AT(gh::Progress, epoch, 40);
GH_AT(gh::Progress, epochs, 48);
GH_AT(gh::Progress, step, 56);
GH_AT(gh::Progress, steps, 64);
GH_SIZE(gh::Progress, 72);

GH_AT(gh::Batch, views, 0);
GH_AT(gh::Batch, indices, 16);
GH_AT(gh::Batch, labels, 24);
GH_AT(gh::Batch, global_size, 32);
GH_SIZE(gh::Batch, 40);

GH_AT(gh::AllocatorFacts, points, 0);
GH_AT(gh::AllocatorFacts, width, 8);
GH_AT(gh::AllocatorFacts, batch, 16);
GH_AT(gh::AllocatorFacts, samples, 24);
GH_AT(gh::AllocatorFacts, classes, 32);
GH_SIZE(gh::AllocatorFacts, 40);
GH_AT(gh::AllocatorFacts, differentiable, 40);

GH_AT(gh::AssignRequest, logits, 0);
GH_AT(gh::AssignRequest, prior, 8);
GH_AT(gh::AssignRequest, indices, 16);
GH_AT(gh::AssignRequest, labels, 24);
GH_AT(gh::AssignRequest, differentiable, 32);
GH_SIZE(gh::AssignRequest, 40);
GH_AT(gh::AssignRequest, random, 40);

GH_AT(gh::FitRequest, embeddings, 0);
GH_AT(gh::FitRequest, points, 8);
GH_AT(gh::FitRequest, prior, 16);
GH_AT(gh::FitRequest, indices, 24);
GH_AT(gh::FitRequest, labels, 32);
GH_AT(gh::FitRequest, random, 40);
GH_AT(gh::FitRequest, table, 96);
GH_SIZE(gh::FitRequest, 104);

GH_AT(gh::BackboneRequest, sample_shape, 0);
GH_AT(gh::BackboneRequest, layers, 16);
GH_AT(gh::BackboneRequest, random, 24);
GH_SIZE(gh::BackboneRequest, 80);

GH_AT(gh::Features, x, 0);
GH_AT(gh::Features, targets, 8);
GH_AT(gh::Features, class_names, 16);
GH_SIZE(gh::Features, 40);

GH_AT(gh::EvalFacts, splits, 0);
GH_AT(gh::EvalFacts, class_targets, 24);
GH_AT(gh::EvalFacts, real_targets, 25);
GH_AT(gh::EvalFacts, sample_shape, 32);
GH_AT(gh::EvalFacts, feature_width, 56);
GH_AT(gh::EvalFacts, embedding_width, 64);
GH_AT(gh::EvalFacts, multi_targets, 72);
GH_SIZE(gh::EvalFacts, 80);
GH_AT(gh::EvalFacts, split_facts, 80);
GH_AT(gh::EvalFacts, class_counts, 104);
GH_AT(gh::EvalFacts, harmonize_points, 128);
GH_AT(gh::EvalFacts, positions, 136);

GH_AT(gh::HarmonizeOptions, struct_size, 0);
GH_AT(gh::HarmonizeOptions, track, 4);
GH_SIZE(gh::HarmonizeOptions, 8);

GH_AT(gh::FeatureRequest, struct_size, 0);
GH_AT(gh::FeatureRequest, level, 4);
GH_AT(gh::FeatureRequest, split, 8);
GH_AT(gh::FeatureRequest, views, 24);
GH_AT(gh::FeatureRequest, samples, 40);
GH_AT(gh::FeatureRequest, draw, 48);
GH_SIZE(gh::FeatureRequest, 56);

GH_AT(gh::LinearSpec, in, 0);
GH_AT(gh::LinearSpec, out, 8);
GH_AT(gh::LinearSpec, bias, 16);
GH_AT(gh::LinearSpec, init, 20);
GH_FIXED(gh::LinearSpec, 24);

GH_AT(gh::ConvolutionSpec, in, 0);
GH_AT(gh::ConvolutionSpec, out, 8);
GH_AT(gh::ConvolutionSpec, kernel, 16);
GH_AT(gh::ConvolutionSpec, stride, 24);
GH_AT(gh::ConvolutionSpec, padding, 32);
GH_AT(gh::ConvolutionSpec, dilation, 40);
GH_AT(gh::ConvolutionSpec, groups, 48);
GH_AT(gh::ConvolutionSpec, bias, 56);
GH_AT(gh::ConvolutionSpec, init, 60);
GH_FIXED(gh::ConvolutionSpec, 64);

GH_AT(gh::NormalizationSpec, channels, 0);
GH_AT(gh::NormalizationSpec, epsilon, 8);
GH_AT(gh::NormalizationSpec, momentum, 16);
GH_AT(gh::NormalizationSpec, affine, 24);
GH_AT(gh::NormalizationSpec, relu, 25);
GH_AT(gh::NormalizationSpec, zero_init, 26);
GH_FIXED(gh::NormalizationSpec, 32);

GH_AT(gh::SplitFacts, name, 0);
GH_AT(gh::SplitFacts, samples, 32);
GH_AT(gh::SplitFacts, targets, 40);
GH_AT(gh::SplitFacts, classes, 48);
GH_FIXED(gh::SplitFacts, 56);

GH_AT(gh::NamedTensor, name, 0);
GH_AT(gh::NamedTensor, tensor, 32);
GH_FIXED(gh::NamedTensor, 40);

GH_FIXED(gh::Random, 56);
GH_FIXED(gh::Error, 24);
GH_FIXED(gh::Digest, 8);
GH_FIXED(gh::Module, 16);
GH_FIXED(gh::Layer, 16);
GH_FIXED(gh::Encoder, 16);
GH_FIXED(gh::Normalization, 16);
GH_FIXED(gh::Sequential, 24);
#endif

// Interfaces have no data members.
#define GH_PURE(type) static_assert(sizeof(gh::type) == sizeof(void*), #type " has data members")
GH_PURE(Complaints);
GH_PURE(Warnings);
GH_PURE(Notices);
GH_PURE(SpeakingDataset);
GH_PURE(EncoderLoader);
GH_PURE(NamedSplit);
GH_PURE(EvaluationFiles);
GH_PURE(Params);
GH_PURE(State);
GH_PURE(LayerFactory);
GH_PURE(Host);
GH_PURE(Step);
GH_PURE(Stages);
GH_PURE(Trainables);
GH_PURE(SslMethod);
GH_PURE(Structure);
GH_PURE(AssignReport);
GH_PURE(Allocator);
GH_PURE(PairedAllocator);
GH_PURE(SampleSink);
GH_PURE(Split);
GH_PURE(Dataset);
GH_PURE(Backbone);
GH_PURE(Evaluation);
GH_PURE(Evaluator);

// --- virtual functions --------------------------------------------------------------------------

namespace {

// Index of a virtual function in its table, from the pointer to member as the Itanium C++ ABI lays
// it out.
template <class Function>
std::size_t slot(Function function) {
  struct {
    std::uintptr_t pointer;
    std::ptrdiff_t adjustment;
  } raw{};
  static_assert(sizeof raw == sizeof function);
  std::memcpy(&raw, &function, sizeof raw);
#if defined(__aarch64__)
  REQUIRE((raw.adjustment & 1) == 1);
  return raw.pointer / sizeof(void*);
#else
  REQUIRE((raw.pointer & 1) == 1);
  return (raw.pointer - 1) / sizeof(void*);
#endif
}

// A function declared after all others gets the slot behind them: their number.
template <class Interface>
struct Probe : Interface {
  virtual void behind_all_others();
};

// `slots` are those of the interface's functions in the order of 1.0; slots 0 and 1 are the
// destructor's.
template <class Interface>
void check_table(std::vector<std::size_t> slots, std::size_t first = 2) {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    INFO("function number " << i << " of the list");
    CHECK(slots[i] == first + i);
  }
  CHECK(slot(&Probe<Interface>::behind_all_others) == first + slots.size());
}

}  // namespace

#define S(function) slot(&T::function)

TEST_CASE("C and C++ agree on the structs of the door") {
  CHECK(gh_c_size_of_param() == sizeof(gh_param_v1));
  CHECK(gh_c_size_of_component() == sizeof(gh_component_v1));
  CHECK(gh_c_size_of_manifest() == sizeof(gh_manifest_v1));
  CHECK(gh_c_size_of_host() == sizeof(gh_host_v1));
  CHECK(gh_c_last_of_param() == offsetof(gh_param_v1, reserved));
  CHECK(gh_c_last_of_component() == offsetof(gh_component_v1, ranks));
  CHECK(gh_c_last_of_manifest() == offsetof(gh_manifest_v1, components));
  CHECK(gh_c_last_of_host() == offsetof(gh_host_v1, sink));
}

TEST_CASE("virtual functions keep their places") {
  SECTION("Complaints") {
    using T = gh::Complaints;
    check_table<T>({S(add)});
  }
  SECTION("Warnings") {
    using T = gh::Warnings;
    check_table<T>({S(warn)});
  }
  SECTION("Params") {
    using T = gh::Params;
    check_table<T>({S(has), S(boolean), S(integer), S(real), S(text), S(integers), S(reals),
                    S(texts), S(table)});
  }
  SECTION("State") {
    using T = gh::State;
    check_table<T>({S(loading), S(tensor), S(integer), S(real), S(text)});
  }
  SECTION("Module") {
    using T = gh::Module;
    check_table<T>({S(query)});
  }
  SECTION("Layer") {
    using T = gh::Layer;
    check_table<T>({S(forward)}, 3);
  }
  SECTION("Encoder") {
    using T = gh::Encoder;
    check_table<T>({S(features)}, 4);
  }
  SECTION("Normalization") {
    using T = gh::Normalization;
    check_table<T>({S(forward_add)}, 4);
  }
  SECTION("LayerFactory") {
    using T = gh::LayerFactory;
    check_table<T>({S(linear), S(convolution), S(normalization), S(query)});
  }
  SECTION("Host") {
    using T = gh::Host;
    check_table<T>({S(facts), S(progress), S(random), S(make_backbone), S(layers), S(log),
                    S(log_tensor), S(picture), S(say), S(all_gather), S(all_reduce_sum),
                    S(shuffle_rows), S(unshuffle_rows), S(embed_all), S(publish_per_sample),
                    S(query)});
  }
  SECTION("Step") {
    using T = gh::Step;
    using Harmonize =
        at::Tensor (T::*)(const at::Tensor&, const at::Tensor&, const gh::HarmonizeOptions&);
    check_table<T>({S(backward), slot(static_cast<Harmonize>(&T::harmonize)), S(reduce_gradients),
                    S(discard_gradients), S(query)});
  }
  SECTION("Stages") {
    using T = gh::Stages;
    check_table<T>({S(add)});
  }
  SECTION("Trainables") {
    using T = gh::Trainables;
    check_table<T>({S(add)});
  }
  SECTION("SslMethod") {
    using T = gh::SslMethod;
    check_table<T>({S(check), S(plan_stages), S(build), S(embedding_width), S(begin_stage),
                    S(stage_samples), S(trainable), S(end_stage), S(begin_epoch), S(step),
                    S(before_update), S(after_update), S(end_epoch), S(train), S(encoder),
                    S(clone_encoder), S(embed), S(visit_state), S(query)});
  }
  SECTION("Structure") {
    using T = gh::Structure;
    check_table<T>({S(check), S(points), S(best_cosine), S(learnable), S(query)});
  }
  SECTION("AssignReport") {
    using T = gh::AssignReport;
    check_table<T>({S(scalar)});
  }
  SECTION("Allocator") {
    using T = gh::Allocator;
    check_table<T>({S(check), S(assign), S(fit_every), S(fit), S(visit_state), S(query)});
  }
  SECTION("PairedAllocator") {
    using T = gh::PairedAllocator;
    check_table<T>({S(assign_both)});
    CHECK(T::kId == std::string_view("gh.paired_allocator.v1"));
  }
  SECTION("SampleSink") {
    using T = gh::SampleSink;
    check_table<T>({S(vector), S(pixels), S(encoded)});
  }
  SECTION("Split") {
    using T = gh::Split;
    check_table<T>({S(size), S(target_kind), S(targets), S(class_names), S(sample_shape), S(read),
                    S(fingerprint), S(query)});
  }
  SECTION("Dataset") {
    using T = gh::Dataset;
    check_table<T>({S(splits), S(open), S(query)});
  }
  SECTION("SpeakingDataset") {
    using T = gh::SpeakingDataset;
    check_table<T>({S(open)});
    CHECK(T::kId == std::string_view("gh.speaking_dataset.v1"));
    check_table<gh::Notices>({slot(&gh::Notices::say), slot(&gh::Notices::missing)});
  }
  SECTION("NamedSplit") {
    using T = gh::NamedSplit;
    check_table<T>({S(name)});
    CHECK(T::kId == std::string_view("gh.named_split.v1"));
  }
  SECTION("EvaluationFiles") {
    using T = gh::EvaluationFiles;
    check_table<T>({S(file)});
    CHECK(T::kId == std::string_view("gh.evaluation.files.v1"));
  }
  SECTION("EncoderLoader") {
    using T = gh::EncoderLoader;
    check_table<T>({S(load_encoder)});
    CHECK(T::kId == std::string_view("gh.encoder_loader.v1"));
    CHECK(gh::kProjects == std::string_view("gh.projects.v1"));
    CHECK(gh::kFollowsConvolution == std::string_view("gh.follows_convolution.v1"));
  }
  SECTION("Backbone") {
    using T = gh::Backbone;
    check_table<T>({S(check), S(make), S(query)});
  }
  SECTION("Evaluation") {
    using T = gh::Evaluation;
    check_table<T>({S(facts), S(random), S(features), S(class_counts), S(points), S(prior),
                    S(clone_encoder), S(each_batch), S(metric), S(table), S(picture), S(say),
                    S(query)});
  }
  SECTION("Evaluator") {
    using T = gh::Evaluator;
    check_table<T>({S(check), S(evaluate), S(query)});
  }
}
