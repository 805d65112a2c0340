// CUDA's name for it.
#pragma once
#define __CUDA_ALIGN__(bytes) __align__(bytes)
#include "../half/fp16.h"
