// Everything one needs to give a program an agent.
#pragma once

#include "tertulia/agent/agent.h"
#include "tertulia/agent/builtin_middleware.h"
#include "tertulia/model/model_catalog.h"
#include "tertulia/model/offline_model.h"
#include "tertulia/tools/builtin_tools.h"
#include "tertulia/tools/function_tool.h"
#include "tertulia/tools/toolkit.h"
