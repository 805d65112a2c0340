// CUDA's name for it.
#pragma once
#include "../../../cub/threads.h"
