// Several ranks in one process: a host each, a thread each, and collectives that meet.
//
//   RankHosts ranks(facts);                                   // facts.world is set to 2
//   ranks.run([&](int rank) { methods[rank]->build(ranks.host(rank)); … });
//
// Gradients of a collective pass to the own rows only: enough to see that states stay the same and
// that every rank calls the same. FakeStep averages the gradients of parameters.
#pragma once

#include "gh/testing/fake_host.hpp"

#include <exception>
#include <functional>
#include <memory>
#include <vector>

namespace gh::testing {

class RankHosts {
 public:
  explicit RankHosts(const RunFacts& facts, int ranks = 2);
  ~RankHosts();

  FakeHost& host(int rank);
  // `work` of every rank at once; what each threw, null where nothing. A rank that waits in vain
  // for another, or meets it in another collective, throws Error (internal).
  std::vector<std::exception_ptr> run(const std::function<void(int rank)>& work);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gh::testing
