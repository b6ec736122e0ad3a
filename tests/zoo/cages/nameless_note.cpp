#define ZOO_NOTE_TEXT "torch=2\nno equals sign here\n"
#include "zoo.h"

ZOO_PLUGIN()
