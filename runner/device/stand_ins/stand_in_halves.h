// In place of a missing header, for a kernel that names a half type.
#pragma once

#include "stand_in_names.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
