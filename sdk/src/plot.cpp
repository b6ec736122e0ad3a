#include "gh/plot.hpp"
