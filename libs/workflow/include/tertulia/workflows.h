// Everything one needs to let several agents work in one conversation.
#pragma once

#include "tertulia/model/scripted_model.h"
#include "tertulia/store/memory_store.h"
#include "tertulia/store/sqlite_store.h"
#include "tertulia/tertulia.h"
#include "tertulia/workflow/concurrent.h"
#include "tertulia/workflow/drawing.h"
#include "tertulia/workflow/group_chat.h"
#include "tertulia/workflow/handoff.h"
#include "tertulia/workflow/magentic.h"
#include "tertulia/workflow/nested.h"
#include "tertulia/workflow/sequential.h"
#include "tertulia/workflow/workflow_engine.h"
#include "tertulia/workflow/workflow_file.h"
