// Learning rates of the linear probe's protocols, one for every epoch. The probe trains with them,
// its benchmark measures them.
#pragma once

#include <cstdint>
#include <vector>

namespace gh::probe {

// As GH is published: first · (1e-4)^(e/epochs).
std::vector<double> gh_rates(int64_t epochs, double first);

// As SDCLR is: ×0.1 after 10 and 20 of 30 epochs, few-shot after 40 and 60 of 100.
std::vector<double> sdclr_rates(int64_t epochs, double first, bool few_shot);

// Ends about where `gh`, rates of gh_rates(), end; 58 epochs for 500.
std::vector<double> fast_rates(const std::vector<double>& gh);

}  // namespace gh::probe
