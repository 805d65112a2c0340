// CUDA's name for it.
#pragma once
#include "../half/bf16.h"
