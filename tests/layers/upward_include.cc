// A file of the layer `text` that reaches up. It must not compile: tests/CMakeLists.txt proves it.
#include "tertulia/conversation/message.h"
