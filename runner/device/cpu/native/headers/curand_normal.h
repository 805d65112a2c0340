// CUDA's name for it.
#pragma once
#include "../random.h"
