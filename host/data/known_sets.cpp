#include "data/known_sets.hpp"

namespace gh::host {
namespace {

struct KnownSet {
  std::string_view fingerprint, sentence;
};

constexpr KnownSet kKnown[] = {
    // Patterns of choices out of CIFAR-100 train.
    {"sha256:31ae8648d7d7d2e7e878e4cea3f214ac5ebce1150d073dd86d3247c287d81159",
     "the choice of CIFAR-100-LT with R = 100 published with GH: 10,847 images, by class and rank"},
    {"sha256:9ccd9ab34b4d89db49d313304b19195f17fdd551b5fb0d8bee6a619bff74036a",
     "the choice of CIFAR-100-LT with R = 50 published with GH: 12,608 images, by class and rank"},
    {"sha256:b1f631555d4bc995c543d9258668c4aee5886b30ba9c2cde00756049933c436b",
     "the choice of CIFAR-100-LT with R = 10 published with GH: 19,573 images, by class and rank"},
    // Lists of "path label" lines; the pictures themselves are not part of the fingerprint.
    {"sha256:d1590191cf8a71fada7b1aaedaa2d139a2aea93ff2f1b755319d0bd8dbaa55d5",
     "ImageNet-LT test, a list of 50,000 images"},
    {"sha256:6ec2c0d1d9b72d282dae4da6ec59175fc07ed601fa21e9428e74a5a47003138a",
     "ImageNet 100-shot train, split 1, a list of 100,000 images"},
    {"sha256:726c4871dcbf07ce2f857703bfe32e9a83ffbf52d704239f6d95c4f4f4c247f7",
     "Places-LT train, a list of 62,500 images"},
    {"sha256:ed3b28dac981da736ddda440a1f14953e9a296546681095476f396621ae29c21",
     "Places 100-shot train, split 1, a list of 36,500 images"},
    {"sha256:7a2e9f03bfe94b9d3b53995c359592f1c99009ee8e55094288b1ec640a6cf358",
     "Places365 validation, a list of 36,500 images"},
};

}  // namespace

std::string_view known_set(std::string_view fingerprint) {
  for (const KnownSet& set : kKnown)
    if (set.fingerprint == fingerprint) return set.sentence;
  return {};
}

}  // namespace gh::host
