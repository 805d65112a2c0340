"""What was worked out of an input once, remembered for as long as the input lives: the cases of a sweep share it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from numpy.typing import NDArray

Array = NDArray[Any]
T = TypeVar("T")
_known: dict[int, dict[str, Any]] = {}  # by the id of the array, which goes with it


def once(array: Array, what: str, make: Callable[[], T]) -> T:
    """The result of `make`, which depends on nothing but the array; made anew if the array may be written to.

    Args:
        array: What it is worked out of.
        what: Tells it from other things that are worked out of the same array.
        make: Works it out.
    """
    if array.flags.writeable:
        return make()
    if id(array) not in _known:
        _known[id(array)] = {}
        weakref.finalize(array, _known.pop, id(array), None)
    found = _known[id(array)]
    if what not in found:
        found[what] = make()
    result: T = found[what]
    return result
