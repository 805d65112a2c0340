"""The columns that counting lines fills, in results.csv and in lines.csv."""

from __future__ import annotations

from runner.display.column import Column, Shown

COLUMNS = (
    Column("shared_load_wavefronts", "real", "",
           "Wavefronts (passes) per shared-memory load of a warp: 1 without bank conflicts, 2 for 8 bytes per thread, "
           "4 for 16. The average over all lines of [lines.csv](#lines), counted from the addresses that the kernel "
           "uses. Empty if the kernel has no such access or was not counted.", Shown.CALCULATED),
    Column("shared_store_wavefronts", "real", "", "The same for shared-memory stores.", Shown.CALCULATED),
    Column("global_load_sectors", "real", "",
           "32-byte sectors per global-memory load of a warp: 4 for adjacent 4-byte elements, 16 for 16 bytes per "
           "thread. Counted in the same way.", Shown.CALCULATED),
    Column("global_store_sectors", "real", "", "The same for global-memory stores.", Shown.CALCULATED),
)  # fmt: skip

OF_LINES = (
    Column("case", "text", "", "As in results.csv."),
    Column("kernel", "text", "", "Name of the kernel."),
    Column("file", "text", "", "Name of the source file, as in sources/."),
    Column("line", "integer", "", "Line number. For inlined code, the innermost line in the kernel's own files."),
    Column("memory", "text", "", "`global` or `shared`. Empty for a branch."),
    Column("kind", "text", "", "`load`, `store`, `atomic` or `branch`."),
    Column("blocks", "integer", "blocks", "Number of blocks that were run: the first, one in the middle, the last."),
    Column("requests", "integer", "", "How often a warp executed an access or a branch of the line."),
    Column("lanes", "real", "lanes", "Average number of active lanes per request. The next columns are averages, too."),
    Column("bytes", "real", "bytes", "Bytes that the lanes of a request access."),
    Column("sectors", "real", "", "32-byte sectors of global memory that a request moves."),
    Column("ideal_sectors", "real", "", "Sectors that the same bytes would need if they were adjacent."),
    Column("wavefronts", "real", "", "Passes over the banks of shared memory that a request takes."),
    Column("ideal_wavefronts", "real", "", "Passes that the same lanes would take without a bank conflict."),
    Column("divergent_branches", "integer", "", "Number of a branch's requests whose lanes diverged."),
    Column("grid_requests", "integer", "",
           "Estimate of `requests` for all blocks: the last block stands for itself, the others for the rest."),
)  # fmt: skip
