// Data sets people know by name, recognised by their fingerprints.
#pragma once

#include <string_view>

namespace gh::host {

// "Places-LT train, a list of 62,500 images" for the fingerprint of a split ("sha256:" and 64
// digits) or the pattern of a choice of samples (data/long_tail.hpp); empty for what is not known.
std::string_view known_set(std::string_view fingerprint);

}  // namespace gh::host
