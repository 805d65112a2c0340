extern "C" __global__ void k(const int* a, int* out) { out[0] = 0; }
