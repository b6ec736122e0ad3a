// Each case draws its numbers from LibTorch's default generator, seeded from the case's name and
// GH_TEST_SEED (0 unless it is set): the same ones in every run, alone or among others, and other
// ones on request. tests/under_seeds.py runs the cases that draw under many values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gh::test {

uint64_t environment_seed();  // GH_TEST_SEED
uint64_t case_seed(std::string_view case_name);

// The argument that Catch2 takes for this case and no other.
std::string case_argument(std::string_view case_name);

}  // namespace gh::test
