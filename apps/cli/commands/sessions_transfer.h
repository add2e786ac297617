// tertulia sessions export and import.
#pragma once

#include "commands.h"

namespace tertulia::cli {

void add_export(CLI::App& sessions, Context& context);
void add_import(CLI::App& sessions, Context& context);

}  // namespace tertulia::cli
