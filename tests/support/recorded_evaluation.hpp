// As the public test kit has it.
#pragma once

#include "gh/testing/recorded_evaluation.hpp"

namespace gh::test {
using testing::RecordedEvaluation;
}
