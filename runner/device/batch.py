"""An array whose parts are arrays of their own, of which a kernel gets an array of pointers (`float**`).

Each part has guards of its own, so that a write behind one of them is found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.device import Array, Role

Place = Callable[[str, NDArray[Any], Role], Array]  # `Device.place`


def table(place: Place, name: str, arrays: Sequence[Array | None]) -> Array:
    """Put the addresses of arrays on the device, 0 for `None`; the kernel may only read them."""
    addresses = np.array([array.pointer if array else 0 for array in arrays], np.uint64)
    return place(name, addresses, Role.IN)


class Batch(Array):
    """The parts of an array along its first axis, each an array on the device, and the table of their addresses.

    Args:
        place: `Device.place`.
        name: The kernel's name for it; its parts are `name[0]`, `name[1]`, ...
        value: The content, shape (n, ...).
        role: What the kernel may do with the parts. It may only read the table.
    """

    def __init__(self, place: Place, name: str, value: NDArray[Any], role: Role) -> None:
        self.role, self._shape = role, value.shape
        # Copies, as a device caches read-only contents by their identity.
        self.parts = tuple(place(f"{name}[{i}]", np.array(part, ndmin=1), role) for i, part in enumerate(value))
        self.table = table(place, name, self.parts)
        self.pointer = self.table.pointer

    def read(self) -> NDArray[Any]:
        """Copy the content, in the shape in which it was uploaded."""
        return np.stack([part.read() for part in self.parts]).reshape(self._shape)

    def fill_bytes(self, value: int) -> None:
        """Set every byte of the parts."""
        for part in self.parts:
            part.fill_bytes(value)

    def restore(self) -> None:
        """Restore the content of the parts."""
        for part in self.parts:
            part.restore()

    def digest(self) -> int:
        """A hash of the parts' hashes."""
        return hash(tuple(part.digest() for part in self.parts))

    def overrun(self) -> str:
        """Where the kernel wrote outside a part; the parts are numbered from 0."""
        return next((f"part {i}, {where}" for i, part in enumerate(self.parts) if (where := part.overrun())), "")

    def free(self) -> None:
        """Free the parts and the table."""
        for array in (*self.parts, self.table):
            array.free()
