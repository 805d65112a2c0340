// __nv_fp4_e2m1: storage of 4 bits, from and to float, double and the half types.
#pragma once
#include "../half/fp4.h"
