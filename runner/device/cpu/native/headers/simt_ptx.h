// What inline PTX is rewritten to (ptx.py).
#pragma once
#include "../ptx.h"
