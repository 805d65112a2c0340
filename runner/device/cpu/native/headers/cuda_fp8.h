// __nv_fp8_e4m3 and __nv_fp8_e5m2: storage of 8 bits, from and to float, double and the half types.
#pragma once
#include "../half/fp8.h"
