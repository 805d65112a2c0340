"""References of the shuffles; `runner.kernel.lanes` has the rule."""

from __future__ import annotations

import numpy as np

from runner.kernel.lanes import exchange_of
from runner.kernel.reference import Expected, ExpectedArray, Inputs, Parameters

Grid = tuple[int, int, int]


def broadcast(inputs: Inputs, parameters: Parameters, grid: Grid) -> Expected:
    """`__shfl_sync` from lane `src_lane` of the segment; see `_moved`."""
    return _moved("idx", int(parameters["src_lane"]), inputs, parameters, grid)


def up(inputs: Inputs, parameters: Parameters, grid: Grid) -> Expected:
    """`__shfl_up_sync` by `delta` lanes; see `_moved`."""
    return _moved("up", int(parameters["delta"]), inputs, parameters, grid)


def down(inputs: Inputs, parameters: Parameters, grid: Grid) -> Expected:
    """`__shfl_down_sync` by `delta` lanes; see `_moved`."""
    return _moved("down", int(parameters["delta"]), inputs, parameters, grid)


def wrap(inputs: Inputs, parameters: Parameters, grid: Grid) -> Expected:
    """`__shfl_sync` around the ring of a segment, by `offset` lanes; see `_moved`."""
    return _moved("wrap", int(parameters["offset"]), inputs, parameters, grid)


def xor(inputs: Inputs, parameters: Parameters, grid: Grid) -> Expected:
    """`__shfl_xor_sync` with `lane_mask`, of `per_thread` elements a thread; see `_moved`."""
    return _moved("xor", int(parameters["lane_mask"]), inputs, parameters, grid)


def swap(inputs: Inputs, parameters: Parameters, grid: Grid) -> Expected:
    """The exchange of element `first` of a lower lane with element `second` of its partner; see `_moved`."""
    return _moved("swap", int(parameters["lane_mask"]), inputs, parameters, grid)


def _moved(operation: str, argument: int, inputs: Inputs, parameters: Parameters, grid: Grid) -> Expected:
    """The elements of each block, moved.

    Args:
        operation: One of `runner.kernel.lanes.INTRINSICS`.
        argument: The third argument of the intrinsic.
        inputs: `in`, shape (size,), or (size, 2) for elements of two numbers.
        parameters: `block`, `width`, `mask`; `per_thread`, `first` and `second` where the kernel has them.
        grid: One block for `block * per_thread` elements.

    Returns:
        `out`, shaped as `in`. Threads beyond the last element hold 0.
    """
    x = inputs["in"]
    rule = exchange_of(operation, argument, parameters)
    blocks = np.zeros((grid[0], len(rule.source), *x.shape[1:]), x.dtype)
    blocks.reshape(-1, *x.shape[1:])[: len(x)] = x
    source = np.minimum(rule.source, len(rule.source) - 1)  # what absent lanes give is not compared
    moved = blocks[:, source].reshape(-1, *x.shape[1:])[: len(x)]
    defined = np.resize(rule.defined, len(x)).reshape(-1, *(1 for _ in x.shape[1:]))
    return Expected({"out": ExpectedArray(moved, magnitude=np.zeros(()), defined=defined)})  # nothing is rounded
