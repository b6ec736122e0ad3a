#define ZOO_NOTE_TEXT "\x01\x02\xff\xfe garbage \x80"
#include "zoo.h"

ZOO_PLUGIN()
