// CUDA's name for it.
#pragma once
#include "../../groups/memcpy_async.h"
