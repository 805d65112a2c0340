// CUDA's name for it.
#pragma once
#include "../half/fp16.h"
