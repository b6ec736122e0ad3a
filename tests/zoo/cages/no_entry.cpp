// A note and nothing behind it.
#include "zoo.h"
