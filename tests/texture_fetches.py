"""Fetches of every kind and mode, for tests of both devices. Run as a program, it records what a GPU gives.

    python tests/texture_fetches.py tests/kernels/textures/h200.npz

It prints in which modes the CPU device differs.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from support import ROOT, Bench

from runner.device import Launch, Role, Source, Texture
from runner.device.config import DeviceConfig
from runner.device.kinds import compiler_for, open_device

FILE = ROOT / "tests" / "kernels" / "textures" / "fetch.cu"
SHAPES = {0: (37,), 1: (37,), 2: (9, 13), 3: (5, 7, 6)}  # by the dimensions of the fetch; 0: tex1Dfetch
COUNT = 512  # fetches of each kind
CPP = {"i1": "char", "u1": "uchar", "i2": "short", "u2": "ushort", "i4": "int", "u4": "uint", "f4": "float"}


@dataclass(frozen=True)
class Fetch:
    """An image, how it is read, and where."""

    dimensions: int
    dtype: str  # of NumPy
    channels: int
    how: Texture
    probe: str = ""  # `ties` between weights; `edges` of texels

    @property
    def name(self) -> str:
        """What tests and recordings call it."""
        t = self.how
        words = [f"{self.dimensions}D", f"{self.dtype}x{self.channels}", t.resource, "-".join(t.address_mode)]
        words += [t.filter_mode, t.read_mode, "normalized" if t.normalized_coords else "texels"]
        return " ".join(filter(None, (*words, self.probe)))

    @property
    def result(self) -> np.dtype[Any]:
        """The type of a fetched number."""
        own = np.dtype(self.dtype)
        return np.dtype("f4") if own.kind == "f" or self.how.promotes else own

    @property
    def function(self) -> str:
        """The kernel that fetches."""
        kind = CPP[f"{self.result.kind}{self.result.itemsize}"]
        alone = {"char": "signed char", "uchar": "unsigned char", "ushort": "unsigned short", "uint": "unsigned int"}
        word = alone.get(kind, kind) if self.channels == 1 else f"{kind}{self.channels}"
        return f"fetch{self.dimensions}<{word}>"

    @property
    def image(self) -> NDArray[Any]:
        """Its texels: random numbers of few bits."""
        if self == WEIGHTS:
            return np.array([0, 256] * 18 + [0], np.float32)
        rng = np.random.default_rng(len(self.name))
        shape = SHAPES[self.dimensions] if self.channels == 1 else (*SHAPES[self.dimensions], self.channels)
        dtype = np.dtype(self.dtype)
        if dtype.kind == "f":
            return (rng.integers(-512, 512, shape) / 4).astype(dtype)
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)

    @property
    def coordinates(self) -> NDArray[np.float32]:
        """Where it is fetched, shape (n, dimensions), x first: a fine grid along x, then anywhere, then between."""
        if self == WEIGHTS:
            return (0.5 + np.arange(2049) / 2048).astype(np.float32)[:, None]
        axes = max(self.dimensions, 1)
        rng = np.random.default_rng(7)
        sizes = np.array(SHAPES[self.dimensions][::-1], np.float64)
        if self.probe == "ties":
            return (rng.integers(0, sizes * 32, (COUNT, axes)) / 32).astype(np.float32)
        if self.probe == "edges":
            return rng.integers(-sizes, 2 * sizes, (COUNT, axes)).astype(np.float32) / sizes.astype(np.float32)
        if self.dimensions == 0:
            return rng.integers(-5, sizes[0] + 5, (COUNT, 1)).astype(np.float32)
        at = rng.uniform(-1.2, 2.2, (COUNT, axes)) * sizes
        at[:128] = 2.5
        at[:128, 0] = 3 + np.arange(128) / 1024  # ties between weights, and what lies between them
        at[128:256] = np.round(at[128:256] * 64) / 64 + 1 / 128
        if self.how.filter_mode == "point":
            at[:256] = np.floor(at[:256]) + rng.integers(1, 64, (256, axes)) / 64  # away from the edges of texels
        return (at / sizes if self.how.normalized_coords else at).astype(np.float32)


WEIGHTS = Fetch(1, "f4", 1, Texture(address_mode=("clamp", "wrap", "wrap"), filter_mode="linear"))


def fetches() -> Iterator[Fetch]:
    """All of them."""
    plain = Texture()
    for channels, dtype in ((1, "i4"), (4, "f4"), (2, "u1")):
        yield Fetch(0, dtype, channels, dataclasses.replace(plain, resource="linear"))
    for dimensions in (1, 2, 3):
        for filter_mode in ("linear", "point"):
            for address in ("wrap", "mirror", "clamp", "border"):
                for normalized in (True, False) if address in ("clamp", "border") else (True,):
                    yield Fetch(
                        dimensions,
                        "f4",
                        1,
                        Texture(
                            "array", (address,) * 3, filter_mode, normalized_coords=normalized, border_color=(7.5,) * 4
                        ),
                    )
        for address in ("wrap", "mirror", "clamp"):
            yield Fetch(dimensions, "f4", 1, Texture("array", (address,) * 3, normalized_coords=True), "edges")
        yield Fetch(dimensions, "f4", 1, Texture(filter_mode="linear"), "ties")
    linear = Texture(filter_mode="linear", read_mode="normalized_float")
    for dtype in ("u1", "i1", "u2", "i2"):
        yield Fetch(2, dtype, 1, linear)
        yield Fetch(2, dtype, 4, dataclasses.replace(linear, filter_mode="point"))
    for dtype in ("u1", "i1", "u2", "i2", "u4", "i4"):
        border = Texture(address_mode=("border",) * 3, border_color=(3, 1, 2, 4))
        yield Fetch(2, dtype, 4, border)
        yield Fetch(3, dtype, 2, plain)
    yield Fetch(2, "f2", 2, dataclasses.replace(plain, filter_mode="linear"))
    yield Fetch(2, "f2", 1, plain)
    for filter_mode in ("linear", "point"):
        yield Fetch(2, "f4", 2, Texture("pitch2d", filter_mode=filter_mode))
    yield Fetch(
        2, "u1", 1, Texture("pitch2d", ("wrap", "mirror", "wrap"), "linear", "normalized_float", normalized_coords=True)
    )


def fetched(bench: Bench, chosen: list[Fetch]) -> dict[str, NDArray[Any]]:
    """What a device gives for each, shape (n, channels), by name."""
    first, *further = dict.fromkeys(fetch.function for fetch in fetches())
    source = Source(FILE, FILE.read_text(), first, other_functions=tuple(further))
    program = bench.device.load(source, bench.compiler.compile(source))
    found = {}
    for fetch in chosen:
        at = fetch.coordinates
        image = bench.device.image("image", fetch.image, Role.IN, fetch.channels, fetch.how)
        where = bench.device.place("at", at, Role.IN)
        out = bench.device.place("out", np.zeros((len(at), fetch.channels), fetch.result), Role.OUT)
        own = program if fetch.function == first else program.sibling(fetch.function)
        blocks = -(-len(at) // 64)
        bench.device.launch(Launch(own, (blocks, 1, 1), (64, 1, 1), 0, (image, where, out, np.int32(len(at)))), 20.0)
        found[fetch.name] = out.read()
        for array in (image, where, out):
            array.free()
    return found


def differences(fetch: Fetch, a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.int64]:
    """Which fetches differ in a bit."""
    return np.flatnonzero((a.view(np.uint8) != b.view(np.uint8)).reshape(len(fetch.coordinates), -1).any(axis=1))


def main() -> None:
    """Record a GPU."""
    chosen, found = [*fetches(), WEIGHTS], []
    for kind in ("cuda", "cpu"):
        config = DeviceConfig(kind=kind)
        device = open_device(config)
        found.append(fetched(Bench(device, compiler_for(config, device.info)), chosen))
        device.close()
    np.savez_compressed(sys.argv[1], **found[0])  # type: ignore[arg-type]
    for fetch in chosen:
        gpu, cpu = (each[fetch.name] for each in found)
        if len(at := differences(fetch, gpu, cpu)):
            i = at[0]
            print(  # noqa: T201
                f"{fetch.name}: {len(at)} of {len(gpu)} differ; at {fetch.coordinates[i]} GPU {gpu[i]}, CPU device {cpu[i]}"
            )
    print(f"recorded {len(chosen)} modes")  # noqa: T201


if __name__ == "__main__":
    main()
