// CUDA's name for it.
#pragma once
#include "../libcu/pipeline.h"
