"""Arrays that a kernel accesses through a texture or surface object: their keywords, and what CUDA allows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from runner.device import Surface, Texture
from runner.errors import UsageError
from runner.kernel.arrays import DTYPES, DType
from runner.kernel.declaration import DeclaredTexture

if TYPE_CHECKING:
    from runner.kernel.case import ArraySpec

WORDS = {
    "resource": ("array", "linear", "pitch2d"),
    "address_mode": ("wrap", "clamp", "mirror", "border"),
    "filter_mode": ("point", "linear"),
    "read_mode": ("element_type", "normalized_float"),
}
NUMBERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "float16", "float32")
# The largest sizes in x, y, z by dimensions (CUDA C++ Programming Guide, "Technical Specifications per Compute
# Capability"). Pitched memory has other limits on a row's bytes, which the driver tells.
LARGEST = {
    "array": ((131072,), (131072, 65536), (16384, 16384, 16384)),
    "linear": ((2**28,), (), ()),
    "pitch2d": ((), (131072, 65000), ()),
    "surface": ((32768,), (131072, 65536), (16384, 16384, 16384)),
}

ROW = 32  # bytes: texturePitchAlignment of GPUs


def chosen(declared: DeclaredTexture, values: Mapping[str, Any], where: str) -> Texture:
    """The texture of a case with these values of parameters."""
    found = {key: [str(values.get(word, word)) for word in words] for key, words in declared.words}
    for key, words in found.items():
        if wrong := [word for word in words if word not in WORDS[key]]:
            raise UsageError(f"{where}: {key}: '{wrong[0]}' is not one of {', '.join(WORDS[key])}")
    modes = found.pop("address_mode")
    x, y, z = (modes + 2 * modes[-1:])[:3]
    rest = {key: words[0] for key, words in found.items()}
    return Texture(
        **rest,
        address_mode=(x, y, z),
        normalized_coords=declared.normalized_coords,
        border_color=declared.border_color,
    )


def impossible(how: Texture | Surface, dtype: DType, shape: tuple[int, ...]) -> str:
    """Why CUDA does not allow this texture or surface; empty if it does."""
    if dtype.fields or dtype.number not in NUMBERS or dtype.numbers not in (1, 2, 4):
        return f"a texel has 1, 2 or 4 numbers of {', '.join(NUMBERS)}, not {dtype.name}"
    resource = how.resource if isinstance(how, Texture) else "surface"
    limits = LARGEST[resource][len(shape) - 1]
    if not limits:
        return (
            f"'resource: {resource}' has {'1 dimension' if resource == 'linear' else '2 dimensions'}, not {len(shape)}"
        )
    if any(not 1 <= n <= most for n, most in zip(reversed(shape), limits, strict=True)):
        sizes = " x ".join(map(str, reversed(limits)))
        return f"the shape {shape} is not within CUDA's 1 to {sizes}"
    return _unreadable(how, dtype) if isinstance(how, Texture) else ""


def no_view(how: Texture, array: ArraySpec) -> str:
    """Why an array that is also an argument itself cannot have this texture; empty if it can."""
    needed = "a surface" if how.resource == "array" else "an array without 'surface', 'constant' and 'offset'"
    plain = array.image is None and not array.constant and not array.offset
    if not (isinstance(array.image, Surface) if how.resource == "array" else plain):
        return f"'resource: {how.resource}' needs {needed}, which '{array.name}' is not"
    if how.resource == "pitch2d" and array.shape[-1] * array.dtype.itemsize % ROW:
        return f"rows of pitched memory have a multiple of {ROW} bytes, those of '{array.name}' do not"
    return impossible(how, array.dtype, array.shape)


def _unreadable(how: Texture, dtype: DType) -> str:
    """Why texels of this type cannot be read with these modes."""
    if how.promotes and (dtype.is_float or dtype.numpy.itemsize > 2):
        return f"'read_mode: normalized_float' is for integers of 8 and 16 bits, not for {dtype.name}"
    if how.filter_mode == "linear" and not (dtype.is_float or how.promotes):
        return f"'filter_mode: linear' is for floats and for 'read_mode: normalized_float', not for {dtype.name}"
    if how.filter_mode == "linear" and how.resource == "linear":
        return "linear memory is read by tex1Dfetch, which has no filter"
    number = DTYPES["float32"] if dtype.is_float or how.promotes else dtype
    if wrong := [n for n in how.border_color if not number.holds(n)]:
        return f"border_color: {wrong[0]} is not a valid {number.name}"
    return ""
