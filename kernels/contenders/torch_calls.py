"""PyTorch's functions as contenders. A class prepares tensors of the arrays; a call queues the work on the stream."""

import contextlib
import warnings

import torch


class OnStream:
    """Tensors of the arrays, without a copy, and the runner's stream; on the CPU device there is none."""

    def __init__(self, *arrays, stream):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # inputs are read-only on the CPU device
            self.tensors = [torch.as_tensor(array) for array in arrays]
        self.stream = torch.cuda.ExternalStream(stream) if stream else None

    def __call__(self):
        with torch.cuda.stream(self.stream) if self.stream else contextlib.nullcontext():
            self.run(*self.tensors)


class Sum(OnStream):
    """torch.sum into the one element of `out`."""

    def __init__(self, values, out, n, stream):
        super().__init__(values, out, stream=stream)
        self.tensors[1] = self.tensors[1].reshape(())

    def run(self, values, out):
        torch.sum(values, dim=0, dtype=values.dtype, out=out)


class Transpose(OnStream):
    """A copy of the transposed view."""

    def __init__(self, values, out, rows, cols, stream):
        super().__init__(values, out, stream=stream)
        values, out = self.tensors
        self.tensors = [values.reshape(rows, cols).t(), out.reshape(cols, rows)]

    def run(self, values, out):
        out.copy_(values)


class Matmul(OnStream):
    """torch.mm in float32; tensor cores (TF32) are off, as PyTorch has them by default."""

    def __init__(self, a, b, c, m, n, k, stream):
        super().__init__(a, b, c, stream=stream)

    def run(self, a, b, c):
        torch.mm(a, b, out=c)


class Softmax(OnStream):
    """torch.softmax of each row."""

    def __init__(self, values, out, rows, cols, stream):
        super().__init__(values, out, stream=stream)

    def run(self, values, out):
        torch.softmax(values, 1, out=out)
