// What tests of plugins share, for whatever framework. Link ghsdk::testing:
//
//   gh::testing::Plugins plugins(argv[1]);                       // the built library, or a folder
//   auto allocator = plugins.make<gh::Allocator>("my_allocator", "epsilon = 0.1");
//   gh::testing::MethodTrial trial(plugins.make<gh::SslMethod>("my_method"), {view1, view2});
//   const double loss = trial.build().step({view1, view2});
//
// Components are asked for by id, so they may stand in an anonymous namespace. This is compiled
// into tests, not into plugins, and may change between minors. Since 1.1.
#pragma once

#include "gh/testing/compare.hpp"
#include "gh/testing/fake_host.hpp"
#include "gh/testing/method_trial.hpp"
#include "gh/testing/plugins.hpp"
#include "gh/testing/rank_hosts.hpp"
#include "gh/testing/recorded_evaluation.hpp"
#include "gh/testing/tiny_pictures.hpp"
#include "gh/testing/vectors.hpp"
