"""nvcuda::wmma on each device: every shape and type, both layouts, and code that treats the elements alike."""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest
from support import ROOT, Bench, constant

from runner.device import Source
from runner.device.checked.device import CheckedDevice
from runner.device.cpu.build import CpuCompiler
from runner.errors import Hazard

FILE = ROOT / "tests" / "kernels" / "cuda" / "wmma.cu"
SHAPES = ((16, 16, 16), (32, 8, 16), (8, 32, 16))


@dataclass(frozen=True)
class Product:
    """Types and shape of a product."""

    factor: str
    sum: str
    shape: tuple[int, int, int]

    @property
    def source(self) -> Source:
        """The kernel for it."""
        macros = [("FACTOR", self.factor), ("SUM", self.sum), *zip("MNK", map(str, self.shape), strict=True)]
        macros += [("TF32", "1")] if self.factor == "tf32" else []
        return Source(FILE, FILE.read_text(), "tile", macros=tuple(macros))

    @property
    def dtypes(self) -> tuple[type, type]:
        """Of the factors and of the sum on the host."""
        names = {
            "__half": np.float16,
            "__nv_bfloat16": ml_dtypes.bfloat16,
            "tf32": np.float32,
            "signed char": np.int8,
            "unsigned char": np.uint8,
        }
        names |= {"float": np.float32, "double": np.float64, "int": np.int32}
        return names[self.factor], names[self.sum]


PRODUCTS = [
    *(Product("__half", total, shape) for shape in SHAPES for total in ("float", "__half")),
    *(Product("__nv_bfloat16", "float", shape) for shape in SHAPES),
    *(Product(kind, "int", shape) for shape in SHAPES for kind in ("signed char", "unsigned char")),
    Product("tf32", "float", (16, 16, 8)),
    Product("double", "double", (8, 8, 4)),
]


def ids(product: Product) -> str:
    """What a test is called."""
    return f"{product.factor}-{product.sum}-{'x'.join(map(str, product.shape))}".replace(" ", "_")


def run(bench, product: Product, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> list[list[np.ndarray]]:
    """The product, and twice the product and c, in both layouts."""
    m, n, _ = product.shape
    factor, total = product.dtypes
    by_columns = np.zeros((a.shape[1], 32), factor)
    by_columns[:, :m] = a.T
    wide = np.zeros((len(b), 2 * n), factor)
    wide[:, :n] = b
    size = 32 * 2 * n
    summand = np.zeros((2, size), total)
    summand[0, : m * 2 * n].reshape(m, 2 * n)[:, :n] = c
    summand[1, : n * 32].reshape(n, 32)[:, :m] = c.T
    results = []
    for layout in (0, 1):
        arrays = [constant(x) for x in (a, by_columns, wide, np.ascontiguousarray(b.T), summand[layout])]
        results.append(bench.call(product.source, *arrays, np.zeros((2, size), total), np.zeros((2, size), total)))
    return [
        [results[0][i][0, : m * 2 * n].reshape(m, 2 * n)[:, :n] for i in (0, 1)],
        [results[1][i][1, : n * 32].reshape(n, 32)[:, :m].T for i in (0, 1)],
    ]


@pytest.mark.parametrize("product", PRODUCTS, ids=ids)
def test_products_of_small_integers_are_exact(bench, product):
    """In every order of additions, so on every device; every element is where the layout says."""
    m, n, k = product.shape
    factor, total = product.dtypes
    rng = np.random.default_rng(1)
    low = 0 if factor is np.uint8 else -4
    a, b, c = (rng.integers(low, 5, size) for size in ((m, 2 * k), (2 * k, n), (m, n)))
    for found, twice_and_c in run(bench, product, a.astype(factor), b.astype(factor), c.astype(total)):
        assert (found.astype(np.float64) == a @ b).all()
        assert (twice_and_c.astype(np.float64) == 2 * (a @ b) + c).all()


@pytest.mark.parametrize("product", [p for p in PRODUCTS if p.sum == "float"][::3], ids=ids)
def test_products_of_numbers_are_rounded_as_the_accumulator(bench, product):
    """On the CPU device each of the two steps is rounded once; a tensor core is nearly as good."""
    m, n, k = product.shape
    factor, _ = product.dtypes
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(m, 2 * k)).astype(factor), rng.normal(size=(2 * k, n)).astype(factor)
    wide_a, wide_b = (x.astype(np.float64) for x in (a, b))
    if product.factor == "tf32":
        wide_a, wide_b = (rounded_to_tf32(x).astype(np.float64) for x in (a, b))
    first = (wide_a[:, :k] @ wide_b[:k]).astype(np.float32)
    expected = (wide_a[:, k:] @ wide_b[k:] + first).astype(np.float32)
    magnitudes = np.abs(wide_a) @ np.abs(wide_b)
    for found, _ in run(bench, product, a, b, np.zeros((m, n), np.float32)):
        off = np.abs(found.astype(np.float64) - expected) / magnitudes
        assert off.max() <= (2**-20 if bench.device.info.is_gpu else 0)


def rounded_to_tf32(x: np.ndarray) -> np.ndarray:
    """To 10 bits of fraction, ties away from zero; written without regard for bits."""
    last_place = np.ldexp(1.0, np.frexp(x)[1] - 11)
    return (np.copysign(np.floor(np.abs(x) / last_place + 0.5), x) * last_place).astype(np.float32)


STORED = """
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void kernel(const half* x, float* y)
{
    __shared__ __align__(32) float s[256];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 0.f);
    wmma::load_matrix_sync(a, x, 16);
    wmma::load_matrix_sync(b, x, 16);
    wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync(s, c, 16, wmma::mem_row_major);
    %s
    for (int k = threadIdx.x; k < 256; k += 32) y[k] = s[k];
}
"""


def test_a_stored_fragment_is_read_after_a_barrier(tmp_path):
    """Which lane stores which element is open, so lanes read what others have stored; PTX orders that by a barrier only."""
    checked = Bench(CheckedDevice(threads=1), CpuCompiler(checked=True))
    path, arrays = tmp_path / "own.cu", (np.zeros(256, np.float16), np.zeros(256, np.float32))
    for barrier in ("__syncwarp();", ""):
        path.write_text(text := STORED % barrier)
        source = Source(path, text, "kernel")
        if barrier:
            checked.call(source, *arrays)
            continue
        with pytest.raises(Hazard, match=r"own\.cu:16: race \(read after write\) on shared 's'"):
            checked.call(source, *arrays)
