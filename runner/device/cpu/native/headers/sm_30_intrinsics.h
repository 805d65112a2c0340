// The shim has all of it already; kernels may include it nevertheless.
#pragma once
