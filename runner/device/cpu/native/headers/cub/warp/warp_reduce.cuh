// CUDA's name for it.
#pragma once
#include "../../../cub/warp.h"
