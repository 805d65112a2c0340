"""Advice on a race: the synchronization that is missing, and between which lines. It ends a race's message.

It states only what follows from the launch and the source text. Both accesses follow the barrier that the threads
passed last, so a barrier within a loop tells whether they are in the same iteration. Without that the advice is less
specific.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from runner.device.checked.code_lines import Code, Lines

WITHIN_WARP, WITHIN_BLOCK, BETWEEN_BLOCKS = 1, 2, 4  # simt::checked::Races::Reach

# simt::checked::Handover::Missing.
_BARRIER_BEFORE, _FENCE_BEFORE, _WIDER_BEFORE, _FENCE_BEHIND, _WIDER_BEHIND, _WIDER_WORD, _LATE = (
    1 << bit for bit in range(7)
)

_BLOCK_BARRIER = re.compile(r"\b__syncthreads\w*\s*\(")
_PART_OF_WARP = re.compile(r"\b__syncwarp\s*\(|\bsync\s*\(")
_WARP_BARRIER = re.compile(r"\b__sync(threads\w*|warp)\s*\(")


@dataclass(frozen=True)
class Access:
    """One access of a race."""

    line: str  # such as `k.cu:12`
    writes: bool
    atomic: bool
    volatile: bool
    block_scope: bool  # of an atomic

    @property
    def verb(self) -> str:
        """The access, for messages."""
        return "write" if self.writes else "read"


@dataclass(frozen=True)
class Signal:
    """A flag in memory by which the earlier thread may have signalled the later one, and what that lacks."""

    missing: int  # a bit set of `_BARRIER_BEFORE`, ...
    write_line: str
    read_line: str


@dataclass(frozen=True)
class RaceFacts:
    """The facts about a race that advice needs."""

    earlier: Access  # the one that was made first
    later: Access
    reach: int  # the distances of the threads in all occurrences, a bit set of WITHIN_WARP, ...
    both_write: bool  # whether two writes raced in some occurrence
    one_writes: bool  # whether a read and a write raced in some occurrence
    same_value: bool  # whether all accesses write the same value
    last_barrier: str  # the line of the barrier that the threads passed last; empty if none or unknown
    signal: Signal | None  # the flag by which the earlier thread may have signalled the later one
    space: str  # the array's memory space: shared or global
    cooperative: bool  # whether the launch is cooperative, so that a grid barrier is possible

    @property
    def in_one_line(self) -> bool:
        """Whether both accesses are on one line."""
        return self.earlier.line == self.later.line


def advice_on_race(race: RaceFacts, source: str, code: Code) -> str:
    """The missing synchronization, as a clause; `source` is the name of the file with `code`."""
    signal = _usable_signal(race, source, code)
    if race.reach & BETWEEN_BLOCKS:
        return _advice_between_blocks(race, signal)
    if race.earlier.atomic != race.later.atomic:
        plain = race.later if race.earlier.atomic else race.earlier
        if race.in_one_line:
            return f"the {plain.verb} on {_line_text(plain.line)} must be atomic, too"
        return f"{_barrier_clause(race, source, code)}, or an atomic {plain.verb} on {_line_text(plain.line)}"
    if signal and signal.write_line != signal.read_line:
        return _signal_clause(race, signal)
    if race.both_write and race.in_one_line:
        return _own_elements(race, "thread")
    clause = _barrier_clause(race, source, code)
    if race.both_write and not race.one_writes:
        return f"{clause}, or an element for each"
    return f"{clause}, or atomic accesses" if race.space == "global" and "atomic" not in clause else clause


def _usable_signal(race: RaceFacts, source: str, code: Code) -> Signal | None:
    """The flag that signals, unless it seems to serve another purpose."""
    signal = race.signal
    if signal is None:
        return None
    if signal.write_line == signal.read_line and (signal.missing & _LATE or signal.read_line == race.later.line):
        return None
    write, data = _line_in(source, signal.write_line), _line_in(source, race.earlier.line)
    if 0 < write < data and code.in_one_function(write, data) and not code.loop_of(write, data):
        return replace(signal, missing=signal.missing | _LATE)
    return signal


def advice_on_copy(copy_line: str, line: str) -> str:
    """The missing wait if a thread reads the target of an asynchronous copy too early."""
    return f"missing: a wait for the copy, such as `__pipeline_wait_prior(0)`, {_between(copy_line, line)}"


def _advice_between_blocks(race: RaceFacts, signal: Signal | None) -> str:
    earlier, later = race.earlier, race.later
    if earlier.atomic and later.atomic:
        where = _lines_text(access.line for access in (earlier, later) if access.block_scope)
        return f"blocks share it: the atomic on {where} needs the scope of the device (no `_block`)"
    if earlier.atomic != later.atomic:
        plain = later if earlier.atomic else earlier
        return f"the {plain.verb} on {_line_text(plain.line)} must be atomic, too"
    if signal:
        return _signal_clause(race, signal)
    if race.cooperative:
        return "missing: a barrier of the grid, such as `grid.sync()`, between the two"
    if race.both_write and (race.in_one_line or not race.one_writes):
        return _own_elements(race, "block")
    return "blocks of one launch have no order: read and write in two launches, or write to another array"


def _own_elements(race: RaceFacts, who: str) -> str:
    line = _line_text(race.later.line)
    if race.same_value:
        return f"one {who} alone should write it"
    if race.one_writes:
        return f"the update on {line} must be atomic (such as `atomicAdd`)"
    return f"each {who} needs elements of its own, or the writes must be atomic"


def _barrier_clause(race: RaceFacts, source: str, code: Code) -> str:
    """A missing barrier, and its place."""
    # The device keeps only the latest atomic accesses, and cannot assign elements of global memory to a warp.
    is_warp = race.reach == WITHIN_WARP and race.space == "shared" and not (race.earlier.atomic or race.later.atomic)
    barrier = "`__syncwarp()`" if is_warp else "`__syncthreads()`"
    pattern = _WARP_BARRIER if is_warp else _BLOCK_BARRIER
    lines = [n for access in (race.earlier, race.later) if (n := _line_in(source, access.line))]
    if len(lines) < 2 or not code.in_one_function(*lines):
        return f"missing: {barrier} between the two"
    first, last = sorted(lines)
    if code.decides(first, last) and race.one_writes:
        step = f"the test on line {first} and the access on line {last} must be one step"
        return f"{step}: by an atomic such as `atomicCAS`, or by a barrier between them that all threads reach"
    place = _place(first, last, _line_in(source, race.last_barrier), code, pattern)
    if is_warp and place.startswith("between lines") and code.matches(_PART_OF_WARP, Lines(first, last)):
        barrier += " of both threads"
    return f"missing: {barrier} {place}"


def _place(first: int, last: int, passed: int, code: Code, barriers: re.Pattern[str]) -> str:
    """Where a barrier is missing between two lines of a function, of which `first` precedes `last` in the text.

    `passed` is the line of the barrier that the threads passed last, or 0.
    """
    loop = code.loop_of(first, last)
    met_here = bool(passed) and code.in_one_function(first, last, passed)
    if loop is None:
        if code.is_kernel(first) or (met_here and not first < passed <= last):
            return _within(first, last)
        return f"between line {last} and line {first} of the next call" if met_here else "between the two"
    if met_here and loop.holds(passed) and not code.is_conditional(passed, loop):
        # No thread has come to that barrier again.
        if first < passed <= last:
            ends = f"between line {last} and line {first} of the next iteration"
            return f"at the end of the loop of line {loop.first}, {ends}"
        return _within(first, last)
    ends_at = [line for line in code.matches(barriers, loop) if not code.is_conditional(line, loop)]
    if ends_at and not loop.holds(passed) and last < min(ends_at):  # nor has any to this one, in the first iteration
        return _within(first, last)
    return f"in each iteration of the loop of line {loop.first}"


def _within(first: int, last: int) -> str:
    return f"between lines {first} and {last}" if first < last else f"between the read and the write on line {first}"


def _signal_clause(race: RaceFacts, signal: Signal) -> str:
    """What a flag needs besides, such as a fence, to order the accesses."""
    earlier, later = race.earlier.line, race.later.line
    fence = "`__threadfence()`" if race.reach & BETWEEN_BLOCKS else "`__threadfence_block()`"
    if signal.missing & _LATE:
        place = f"behind {_line_text(earlier)} and a {fence}"
        return f"{_line_text(signal.write_line)} signals too early: it must stand {place}"
    before, behind = _between(earlier, signal.write_line), _between(signal.read_line, later)
    wider = "`__threadfence()` in place of `__threadfence_block()`"
    needs = []
    if signal.missing & _BARRIER_BEFORE:
        needs.append(f"a `__syncthreads()` {before}")
    if signal.missing & _FENCE_BEFORE:
        needs.append(f"a {fence} {before}")
    if signal.missing & _FENCE_BEHIND:
        needs.append(
            f"an acquire on {_line_text(later)}" if signal.read_line == later else f"a {fence} (or an acquire) {behind}"
        )
    if signal.missing & _WIDER_BEFORE and signal.missing & _WIDER_BEHIND:
        needs.append(wider)
    elif signal.missing & (_WIDER_BEFORE | _WIDER_BEHIND):
        needs.append(f"{wider} {before if signal.missing & _WIDER_BEFORE else behind}")
    if signal.missing & _WIDER_WORD:
        needs.append("the scope of the device (no `_block`)")
    lines = _lines_text((signal.write_line, signal.read_line))
    return f"the signal on {lines} orders them only with {' and '.join(needs)}"


def _lines_text(lines: Iterable[str]) -> str:
    return " and ".join(_line_text(line) for line in dict.fromkeys(lines))


def _between(first: str, second: str) -> str:
    if first == second:
        return f"within {_line_text(first)}"
    if first.rpartition(":")[0] == second.rpartition(":")[0]:
        return f"between lines {_number(first)} and {_number(second)}"
    return f"between {first} and {second}"


def _line_text(line: str) -> str:
    return f"line {_number(line)}" if _number(line) else line


def _line_in(source: str, line: str) -> int:
    """The number of a line of the file `source`; 0 for a line of another file."""
    return _number(line) if line.startswith(f"{source}:") else 0


def _number(line: str) -> int:
    digits = line.rpartition(":")[2]
    return int(digits) if digits.isdigit() else 0
