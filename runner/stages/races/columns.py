"""The columns of results.csv that the check for races fills."""

from __future__ import annotations

from runner.display.column import Column, Shown

COLUMNS = (
    Column("races_at", "text", "",
           "Where races, uninitialized and out-of-bounds accesses were looked for ([how](checked.md#by-default)): the "
           "small cases of the same variant that were launched, such as `size=641`, or `its own size`. Empty if they "
           "were not.", Shown.ON_REQUEST),
    Column("races_skipped", "text", "", "Why they were not looked for.", Shown.ON_REQUEST),
)  # fmt: skip
