// Nothing wrong with it by itself: takes an id that another plugin has, or is copied and doctored
// by the test.
#include "zoo.h"

ZOO_PLUGIN()
