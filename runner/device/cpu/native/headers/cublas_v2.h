// Kernels use none of it but the half types that it includes.
#pragma once
#include "cuda_bf16.h"
#include "cuda_fp16.h"
