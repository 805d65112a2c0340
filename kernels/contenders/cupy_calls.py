"""CuPy's functions as contenders."""

import cupy


class Sum:
    """cupy.sum into the one element of `out`, which costs it a copy."""

    def __init__(self, values, out, n, stream):
        self.values, self.out = cupy.asarray(values), cupy.asarray(out).reshape(())
        self.stream = cupy.cuda.ExternalStream(stream)

    def __call__(self):
        with self.stream:
            cupy.sum(self.values, dtype=self.values.dtype, out=self.out)
