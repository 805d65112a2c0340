"""What the reference imports."""

import numpy as np


def first(n):
    """The first numbers."""
    return np.arange(n, dtype=np.int32)
