// CUDA's name for it.
#pragma once
#include "../libcu/atomic.h"
#include "../groups/groups.h"
