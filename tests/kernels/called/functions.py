"""Functions that are called in place of kernels: right ones, and one of each kind of mistake."""

import builtins

import numpy as np

CALLS = getattr(builtins, "CALLS_OF_A_TEST", [])  # the module is imported anew for each program


def doubled(values, out, factor, stream):
    """Right."""
    assert stream is None
    np.multiply(values, factor, out=out)


class Prepared:
    """Prepares once for the same arrays, and is called for each launch."""

    def __init__(self, values, out, factor, stream):  # noqa: ARG002  (what a kernel gets)
        CALLS.append("prepared")
        self.given = values, out, factor

    def __call__(self):
        """A launch."""
        CALLS.append("called")
        values, out, factor = self.given
        np.multiply(values, factor, out=out)


def forgets(values, out, factor, stream):
    """Leaves the last element."""
    np.multiply(values[:-1], factor, out=out[:-1])


def raises(values, out, factor, stream):
    """Raises."""
    raise ValueError("no such shape")


def alone(values):
    """Takes less than it is given."""


def writes_input(values, out, factor, stream):
    """Writes what it may only read."""
    values[0] = 1


def half(values, out, factor, stream):
    """What NumPy has no type for are unsigned integers of the same bits: 1.0 of bfloat16 is 0x3f80."""
    assert values.dtype == np.uint16
    out[:] = values
