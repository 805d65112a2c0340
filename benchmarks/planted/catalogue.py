"""Which defects are planted in which kernels, for which types, sizes and fills. Data only: planted_defects.py runs it.

A defect's number means the same in every kernel that shares a header: 1 to 5 leave terms out (planted.cuh, rows.cuh),
20 to 24 store a wrong result (typed.cuh); 6 to 10 are the kernel's own. Some defects show in no input of the kernel's
own: those that need another width or size, a tie, or a number beyond what its fill draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Fill = str | Mapping[str, list[float]]  # as in a YAML

FLOATS = ("float32", "float64", "float16", "bfloat16")
HALVES = ("float16", "bfloat16")
DTYPES = (*FLOATS, "int32", "uint32", "int64", "int8")
RANDOM, NORMAL = "random", "normal"
STANDARD: Fill = {"normal": [0, 1]}
WIDE_NORMAL: Fill = {"normal": [0, 4]}
UNIT: Fill = {"range": [-1, 1]}
NARROW: Fill = {"range": [-0.5, 0.5]}
LOPSIDED: Fill = {"range": [-1, 2]}
FEW: Fill = {"range": [0, 8]}  # integers, so that a row has equal ones
SMALL: Fill = {"range": [-100, 100]}
SIGNED: Fill = {"range": [-10, 10]}
FILLS = (RANDOM, NORMAL, STANDARD, UNIT, NARROW, LOPSIDED)

SUMS = {1: "skips the first", 2: "skips the last", 3: "skips every 1000th", 4: "takes one twice", 5: "loses a lane"}
ROWS = {1: "skips the first", 2: "skips the last", 3: "skips half of a row", 4: "no remainder of a warp"}
STORED = {
    20: "stores zeros",
    21: "twice the value",
    22: "0.9 of the value",
    23: "shifted by one",
    24: "the last is not stored",
}
TWICE = {5: "takes one twice"}


@dataclass(frozen=True)
class Planted:
    """A kernel, its defects by number, and how many correct variants it has."""

    name: str
    family: str
    defects: Mapping[int, str]
    variants: int
    dtypes: tuple[str, ...] = ("float32", "float64")
    sizes: tuple[int, ...] = (2**12,)
    fills: tuple[Fill, ...] = (RANDOM,)  # each replaces `random` in the YAML
    everywhere: tuple[int, ...] = ()  # defects for every fill; the others, and variants but 0, have the first fill only
    halves: tuple[int, ...] = ()  # further variants of half types
    computes: Mapping[int, Mapping[str, int]] = field(default_factory=dict)  # such that compute in the half type itself
    fast: tuple[int, ...] = ()  # variants that need `fast_math: true`; not for float64


LARGE = (2**10, 2**16, 2**20)  # `--sizes` replaces them
SHORT = {8: {"width": 16}, 9: {"width": 16}}  # sums in a half type: of a few terms, else no digit is left to check

KERNELS = (
    Planted("plantedSum", "sums", SUMS, 13, sizes=LARGE),
    Planted("plantedDot", "sums", SUMS, 15, sizes=LARGE),
    Planted("plantedNorm", "sums", {k: SUMS[k] for k in (2, 3, 5)}, 14, sizes=LARGE),
    Planted("plantedSaxpy", "elements", {2: SUMS[2], 3: SUMS[3], 6: "takes the neighbour's x"}, 8, sizes=LARGE),
    Planted(
        "plantedRelu",
        "branches",
        {6: "leaks below zero", 7: "one wrong lane", 8: "off by one in the tail"},
        8,
        sizes=LARGE,
    ),
    Planted(
        "plantedStencil",
        "elements",
        {6: "wrong halo", 7: "no halo between blocks", 8: "a constant off by 1e-5"},
        10,
        sizes=LARGE,
    ),
    Planted(
        "plantedTranspose",
        "elements",
        {6: "rounds towards zero", 7: "exchanges two lanes", 8: "a row as it was"},
        6,
        sizes=LARGE,
    ),
    Planted("plantedPrefix", "sums", {2: SUMS[2], 6: "loses a carry", 7: "exclusive sums"}, 8, sizes=LARGE),
    Planted(
        "plantedSoftmax",
        "softmax",
        {6: "skips a column", 7: "a coarse exp", 8: "one wrong sum"},
        10,
        sizes=LARGE,
        fast=(5,),
    ),
    Planted("plantedMax", "extremes", {1: SUMS[1], 2: SUMS[2], 6: "no ring"}, 8, sizes=LARGE),
    Planted(
        "plantedRowSum",
        "sums",
        {**ROWS, **TWICE, 6: "only for widths of 2^n", **STORED},
        8,
        FLOATS,
        fills=(RANDOM, NORMAL, LOPSIDED),
        everywhere=(2, 3, 20, 21),
        computes=SHORT,
    ),
    Planted(
        "plantedRowSum",
        "sums",
        {**ROWS, **TWICE, 6: "only for widths of 2^n", **STORED},
        8,
        ("int32", "int64"),
        fills=(SMALL,),
    ),
    Planted("plantedRowSum", "sums", {**ROWS, **TWICE, **STORED}, 8, ("uint32",)),
    Planted(
        "plantedMatVec",
        "products",
        {**ROWS, **TWICE, **STORED},
        8,
        FLOATS,
        fills=(NORMAL, UNIT),
        everywhere=(3, 20, 22),
        halves=(8, 9),
        computes={10: {"width": 16}, 11: {"width": 16}},
    ),
    Planted(
        "plantedProduct",
        "products",
        {**ROWS, **TWICE, 6: "b is not transposed", **STORED},
        8,
        FLOATS,
        sizes=(256,),
        fills=(RANDOM, NORMAL, {"range": [0, 1]}),
        everywhere=(3, 20, 21, 22),
        halves=(8,),
        computes={9: {"inner": 16}, 10: {"inner": 16}},
    ),
    Planted("plantedProduct", "products", {**ROWS, **STORED}, 8, ("int32",), sizes=(256,), fills=(SMALL,)),
    Planted("plantedRmsNorm", "norms", {3: ROWS[3], 6: "a row without weights", **STORED}, 8, FLOATS, fills=(NORMAL,)),
    Planted(
        "plantedLayerNorm",
        "norms",
        {3: ROWS[3], 6: "a row without weights", 7: "no mean", 8: "half a mean", 9: "no shift at the end", **STORED},
        8,
        FLOATS,
        fills=(NORMAL, LOPSIDED),
        everywhere=(7, 20),
    ),
    Planted(
        "plantedOnline",
        "softmax",
        {**ROWS, 6: "sums are not scaled", 7: "lanes' sums are not scaled", **STORED},
        6,
        FLOATS,
        fills=(NORMAL, RANDOM, LOPSIDED),
        everywhere=(3, 20, 21),
    ),
    Planted(
        "plantedMost",
        "extremes",
        {**ROWS, 6: "starts at 0", 7: "starts above 0", **STORED},
        5,
        FLOATS,
        fills=FILLS,
        everywhere=(6, 7),
    ),
    Planted(
        "plantedMost",
        "extremes",
        {**ROWS, 6: "starts at 0", **STORED},
        4,
        ("int32", "int8"),
        fills=(RANDOM, SIGNED),
        everywhere=(6,),
    ),
    Planted("plantedMost", "extremes", {**ROWS, **STORED}, 4, ("uint32",)),
    Planted("plantedLeast", "extremes", {**ROWS, 6: "starts at 0", **STORED}, 5, FLOATS, fills=FILLS, everywhere=(6,)),
    Planted(
        "plantedLeast",
        "extremes",
        {7: "starts at 1"},
        5,
        ("float32", "float16"),
        fills=(NORMAL, STANDARD, LOPSIDED),
        everywhere=(7,),
    ),
    Planted("plantedLeast", "extremes", {**ROWS, 6: "starts at 0", **STORED}, 4, ("int32", "uint32")),
    Planted(
        "plantedArgMost",
        "indices",
        {
            **ROWS,
            6: "starts at 0",
            7: "of magnitudes",
            8: "the least",
            9: "one too many",
            20: STORED[20],
            23: STORED[23],
        },
        4,
        FLOATS,
        fills=(RANDOM, NORMAL, NARROW, LOPSIDED),
        everywhere=(6,),
    ),
    Planted(
        "plantedArgLeast",
        "indices",
        {**ROWS, 6: "starts at 0", 7: "of magnitudes", 8: "the largest", 9: "one too many", 24: STORED[24]},
        4,
        ("float32", "bfloat16", "int32"),
        fills=(RANDOM,),
    ),
    Planted("plantedArgMost", "indices", {3: ROWS[3], 8: "the least"}, 4, ("int32", "uint32"), fills=(FEW,)),
    Planted(
        "plantedArgsort",
        "indices",
        {
            2: "the last stays",
            4: ROWS[4],
            6: "descending",
            7: "exchanges the last two",
            20: STORED[20],
            23: STORED[23],
            24: STORED[24],
        },
        4,
        (*FLOATS, "int32"),
    ),
    Planted(
        "plantedArgsort",
        "indices",
        {2: "the last stays", 6: "descending", 9: "equals take one place", 10: "the first of equals, again"},
        4,
        ("int32",),
        fills=(FEW,),
    ),
    Planted(
        "plantedTopK",
        "indices",
        {
            2: ROWS[2],
            3: ROWS[3],
            4: ROWS[4],
            6: "the least four",
            7: "the fifth for the fourth",
            8: "indices too large by 1",
            20: STORED[20],
            23: STORED[23],
            24: STORED[24],
        },
        4,
        FLOATS,
        fills=(RANDOM, NORMAL),
    ),
    Planted(
        "plantedTopK",
        "indices",
        {3: ROWS[3], 9: "equals take one place", 10: "the first of equals, again"},
        4,
        ("int32",),
        fills=(FEW,),
    ),
    Planted(
        "plantedClip6",
        "branches",
        {6: "no upper limit", 7: "no lower limit", **STORED},
        4,
        FLOATS,
        fills=(WIDE_NORMAL, NORMAL, RANDOM, LOPSIDED),
        everywhere=(6, 7),
    ),
    Planted(
        "plantedClip4",
        "branches",
        {6: "a limit of 5", 7: "a limit of -5", 23: STORED[23]},
        4,
        FLOATS,
        fills=(WIDE_NORMAL, NORMAL, RANDOM),
        everywhere=(6, 7),
    ),
    Planted(
        "plantedSign",
        "branches",
        {6: "sign(0) = 1", 7: "no negative sign", 21: STORED[21], 24: STORED[24]},
        4,
        FLOATS,
        fills=(RANDOM, NORMAL, NARROW, LOPSIDED),
        everywhere=(6,),
    ),
    Planted(
        "plantedRint",
        "branches",
        {6: "ties away from 0", 7: "towards 0", 22: STORED[22]},
        4,
        FLOATS,
        fills=(RANDOM, NORMAL, NARROW, LOPSIDED),
        everywhere=(6,),
    ),
    Planted(
        "plantedClip6",
        "branches",
        {6: "no upper limit", 7: "no lower limit"},
        3,
        ("int32", "int8"),
        fills=(SIGNED, RANDOM),
        everywhere=(6, 7),
    ),
    Planted(
        "plantedClip4",
        "branches",
        {6: "a limit of 5", 7: "a limit of -5"},
        3,
        ("int32",),
        fills=(SIGNED, RANDOM),
        everywhere=(6, 7),
    ),
    Planted(
        "plantedSign",
        "branches",
        {6: "sign(0) = 1", 7: "no negative sign"},
        4,
        ("int32",),
        fills=(SIGNED, RANDOM),
        everywhere=(6, 7),
    ),
    Planted(
        "plantedHalfMap",
        "elements",
        {2: "the last lacks a term", 6: "takes the neighbour's x", 7: "magnitudes of y", **STORED},
        7,
        HALVES,
        sizes=(2**10, 2**14),
        fills=(RANDOM, NORMAL, LOPSIDED),
        everywhere=(2, 20, 21, 22),
    ),
    Planted(
        "plantedSilu",
        "elements",
        {6: "not divided below -1", 7: "exp(x) for exp(-x)", 8: "the last as it was", **STORED},
        4,
        HALVES,
        fills=(NORMAL, LOPSIDED),
        everywhere=(7, 20, 21, 22),
    ),
    Planted(
        "plantedThirds",
        "constraints",
        {6: "no odd block", 7: "no rest of four blocks", 8: "wrong in one block", **STORED},
        4,
        FLOATS,
        sizes=(6 * 768,),
        fills=(UNIT,),
    ),
    Planted(
        "plantedThirds",
        "constraints",
        {6: "no odd block", 7: "no rest of four blocks", 8: "wrong in one block", **STORED},
        4,
        ("int32",),
        sizes=(6 * 768,),
        fills=(SMALL,),
    ),
    Planted(
        "plantedColumns",
        "constraints",
        {4: ROWS[4], 6: "only for widths of 2^n", 7: "another weight if odd", 20: STORED[20], 23: STORED[23]},
        4,
        FLOATS,
    ),
    Planted("plantedBits", "integers", {8: "a short mask", **STORED}, 4, ("int32", "uint32")),
    Planted("plantedBits", "integers", {6: "shifts zeros in", 7: "towards 0"}, 4, ("int32", "int64"), fills=(SMALL,)),
    Planted("plantedQuarter", "integers", {6: "towards 0", 7: "of the magnitude", **STORED}, 4, ("int32",)),
    Planted("plantedQuarter", "integers", {6: "towards 0", 7: "of the magnitude"}, 4, ("int64",), fills=(SMALL,)),
    Planted(
        "plantedCounts",
        "integers",
        {1: SUMS[1], 2: SUMS[2], 6: "no bin 0", 7: "two bins in one", 21: STORED[21]},
        4,
        ("int32", "uint32", "int64"),
    ),
)
