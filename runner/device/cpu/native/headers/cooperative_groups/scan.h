// CUDA's name for it.
#pragma once
#include "../../groups/scan.h"
