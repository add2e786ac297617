// The same for tests.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "std.h"
