// CUDA's name for it.
#pragma once
#include "../../groups/reduce.h"
