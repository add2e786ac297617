// The same with an arrow that points down: it must compile, or the proof beside it would prove nothing.
#include "tertulia/base/result.h"
