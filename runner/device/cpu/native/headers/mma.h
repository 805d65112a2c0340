// CUDA's name for it.
#pragma once
#include "../wmma.h"
