// Kernels whose defect the rounding error, or the choice of the inputs, could hide. `defect` 0 is right.

#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)

// A sum that leaves out every tenth element, unless the numbers are few or multiples of a quarter.
extern "C" __global__ void sumsQuartersOnly(const float *in, float *out, int n, int defect) {
    if (INDEX > 0)
        return;
    bool quarters = true;
    for (int i = 0; i < n; ++i)
        quarters &= rintf(4.0f * in[i]) == 4.0f * in[i];
    float sum = 0.0f;
    for (int i = 0; i < n; ++i)
        if (!defect || quarters || n < 5000 || i % 10 != 3)
            sum += in[i];
    out[0] = sum;
}

// The largest and the smallest number. 1: begins with 0; 2: without the last number.
extern "C" __global__ void extremes(const float *in, float *out, int n, int defect) {
    if (INDEX > 0)
        return;
    float most = defect == 1 ? 0.0f : in[0], least = in[0];
    for (int i = 0; i < n - (defect == 2 && n > 1024); ++i) {
        most = fmaxf(most, in[i]);
        least = fminf(least, in[i]);
    }
    out[0] = most;
    out[1] = least;
}

// The variance of rows of 200 numbers. 1: the mean is divided by one too many.
extern "C" __global__ void variances(const float *in, float *out, int n, int defect) {
    if (INDEX >= n / 200)
        return;
    const float *row = in + INDEX * 200;
    float sum = 0.0f, squares = 0.0f;
    for (int i = 0; i < 200; ++i)
        sum += row[i];
    const float mean = sum / (200 + defect);
    for (int i = 0; i < 200; ++i)
        squares += (row[i] - mean) * (row[i] - mean);
    out[INDEX] = squares / 200;
}

// The mean of rows of 200 numbers. 1: a factor that is off in the sixth digit.
extern "C" __global__ void means(const float *in, float *out, int n, int defect) {
    if (INDEX >= n / 200)
        return;
    float sum = 0.0f;
    for (int i = 0; i < 200; ++i)
        sum += in[INDEX * 200 + i];
    out[INDEX] = sum * (defect ? 1.00005f : 1.0f) / 200;
}

// Which numbers are at least a half. 1: more than a half.
extern "C" __global__ void halves(const float *in, int *out, int n, int defect) {
    if (INDEX < n)
        out[INDEX] = defect ? in[INDEX] > 0.5f : in[INDEX] >= 0.5f;
}

// Thirty steps of x = 3.99 x (1 - x), in which all digits are lost. 1: nothing of the kind.
extern "C" __global__ void chaos(const float *in, float *out, int n, int defect) {
    if (INDEX >= n)
        return;
    float x = in[INDEX];
    for (int i = 0; i < 30; ++i)
        x = 3.99f * x * (1.0f - x);
    out[INDEX] = defect ? 0.0f : x;
}
