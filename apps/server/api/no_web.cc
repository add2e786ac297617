// Stands in for the pages where the program is built without them.
#include "api/routes.h"

namespace tertulia::server {

const Route* web_route() { return nullptr; }

}  // namespace tertulia::server
