"""Rows of shuffle kernels: what `runner.kernel.lanes` says that they move, spoilt where a test wants it."""

from __future__ import annotations

from typing import Any

import report_runs as runs

from runner.kernel.lanes import exchange

COLUMNS = list(runs.COLUMNS)
COLUMNS[COLUMNS.index("seed") : COLUMNS.index("seed")] = [
    "per_thread",
    "first",
    "second",
    "repaired",
    "stride",
    "cache",
]
COLUMNS += [
    *("note", "shuffle", "received", "shared_load_wavefronts", "shared_store_wavefronts"),
    *("global_load_sectors", "global_store_sectors"),
]


def shuffle(number: int = 0, operation: str = "down", argument: int = 2, **given: Any) -> dict[str, Any]:
    """A row of a shuffle of one block; `spoil` replaces what elements received, `undefined` what undefined reads gave."""
    spoil, undefined = given.pop("spoil", {}), given.pop("undefined", "?")
    block, width, mask = given.get("block", 32), given.get("width", 32), given.pop("mask", 0xFFFFFFFF)
    per_thread = given.get("per_thread", 1)
    swapped = (given.get("first", 0), given.get("second", 0))
    rule = exchange(operation, argument, width, mask, block, per_thread, swapped)
    held = [str(s) if d else undefined for s, d in zip(rule.source, rule.defined, strict=True)]
    held = [str(spoil.get(index, word)) for index, word in enumerate(held)][: min(128, given.get("size", 128))]
    base = runs.row(number, **{"kernel": f"shfl{operation.capitalize()}", "size": block * per_thread, **given})
    return {
        **base, "block": block, "width": width, "mask": f"0x{mask:08x}", "grid": 1, "family": "shuffle",
        "shuffle": f"{operation} {argument}", "received": " ".join(held), "median_us": 4 + number, "cache": "none",
    }  # fmt: skip


def butterfly(kernel: str = "shflXor") -> list[dict[str, Any]]:
    """Five steps of one kernel."""
    return [shuffle(n, "xor", 16 >> n, kernel=kernel) for n in range(5)]


def tour() -> list[dict[str, Any]]:
    """Every kernel once, and wrap in both directions."""
    given: list[tuple[str, str, int, dict[str, Any]]] = [
        ("shflBroadcast", "idx", 2, {}), ("shflUp", "up", 2, {}), ("shflDown", "down", 2, {}),
        ("shflWrap", "wrap", 2, {}), ("shflWrap", "wrap", -2, {}), ("shflXor", "xor", 1, {}),
        ("shflXorArray", "xor", 1, {"block": 4, "per_thread": 4}),
        ("shflSwap", "swap", 1, {"block": 4, "per_thread": 4, "first": 0, "second": 3}),
    ]  # fmt: skip
    return [
        shuffle(n, operation, argument, **{"kernel": kernel, "block": 16, "width": 16, "size": 16, **more})
        for n, (kernel, operation, argument, more) in enumerate(given)
    ]
