"""The section of one kernel, and the other words of docs/kernels.md that follow from what kernels declare."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_page import header
from kernel_page.header import Header
from runner.kernel import access
from runner.kernel.declaration import Kernel, Parameter, ScalarArgument
from runner.kernel.parameters import Kind, written
from runner.kernel.resolve import make
from runner.report.text import count

FINISH = {
    "host": "one partial result a block; the host puts them together",
    "device": "the launch leaves the whole result",
}


@dataclass(frozen=True)
class Section:
    """What a section tells.

    Attributes:
        kernel: The kernel, as declared.
        header: Of its source.
        experiments: That use it, their YAMLs.
        finish: Whether its family has kernels that finish in different places.
        refusal: What the CPU device says of it, if it breaks a rule.
        picture: The picture in Markdown; empty for none.
    """

    kernel: Kernel
    header: Header
    experiments: Sequence[Path]
    finish: bool
    refusal: str
    picture: str


def section(told: Section, kernels: Mapping[str, Kernel], page: Path) -> str:
    """The section in Markdown."""
    kernel = told.kernel
    lines = [f"### {kernel.name}", "", f"{prose(kernel.summary, kernel)}.", ""]
    lines += ["```text", told.header.formula, "```", ""]
    against = told.header.previous
    link = f"[{against}](#{against.lower()})" if against in kernels else against
    lines += [f"**New{f' against {link}' if link else ''}:** {prose(told.header.new, kernel)}", ""]
    if told.picture:
        lines += [told.picture, ""]
    lines += [f"    {header.command(kernel.yaml)}", ""]
    lines += [*_parameters(kernel, told.header), ""]
    if told.header.constraints:
        lines += [f"**Constraints:** {prose(told.header.constraints, kernel)}", ""]
    if kernel.constraints:
        lines += ["A case is skipped unless:", ""]
        lines += [*[f"- {_code(c.require.text)}: {prose(c.reason, kernel)}" for c in kernel.constraints], ""]
    if kernel.gpu_only:
        lines += [f"**Runs on a GPU only:** {prose(kernel.gpu_only, kernel)}. The CPU device skips it.", ""]
    if kernel.hazard:
        lines += [f"**Breaks a rule** if {_code(kernel.hazard.when.text)}: {prose(kernel.hazard.reason, kernel)}.", ""]
    if told.refusal:
        lines += ["What the CPU device says then:", "", f"> {_code(told.refusal)}", ""]
    lines.append("\\\n".join(f"**{what}:** {fact}" for what, fact in _facts(told, page).items()))  # a line each
    return "\n".join(lines) + "\n"


def prose(text: str, kernel: Kernel) -> str:
    """Words of a header or a YAML in Markdown: names and expressions as code, nothing taken for markup."""
    macros = "|".join(sorted((re.escape(name) for name, _ in kernel.macros), key=len, reverse=True)) or "(?!)"
    code = rf"`[^`]+`|__\w+|\b\w+(?:\[[^\]]*\])+|\b(?:{macros})\b(?:\(\))?|\b[a-z]\w*_\w+\b|\b\w+\^\w+"
    parts = re.split(f"({code})", text)
    return "".join(
        _code(part.strip("`")) if number % 2 else re.sub(r"([\\*_<>\[\]])", r"\\\1", part)
        for number, part in enumerate(parts)
    )


def relative(target: Path, page: Path) -> str:
    """A path as a link of the page has it."""
    return Path(os.path.relpath(target, page.parent)).as_posix()


def _code(text: str) -> str:
    return f"`{' '.join(text.split())}`"


def _parameters(kernel: Kernel, head: Header) -> list[str]:
    """The table of parameters, without that of all kernels."""
    comments = header.comments(kernel.yaml)
    rows = ["| parameter | default | allowed | in the kernel |", "|---|---|---|---|"]
    for p in kernel.parameters:
        if p.name == "cache":
            continue
        default = _code(written(p.kind, p.default))
        allowed = ", ".join(_code(written(p.kind, value)) for value in p.allowed) or p.kind
        meaning = "; ".join(filter(None, [*_uses(kernel, p, head), prose(comments.get(p.name, ""), kernel)]))
        rows.append(f"| {_code(p.name)} | {default} | {allowed} | {meaning} |".replace("  ", " "))
    derived = [(n, e.text) for n, e in kernel.macros if e.names and e.text not in _names(kernel)]
    return [*rows, *[f"\n`{name}` is {_code(text)}." for name, text in derived]]


def _names(kernel: Kernel) -> set[str]:
    """What expressions may call a parameter without calculating."""
    return {p.name for p in kernel.parameters} | {
        f"{p.name}_{axis}" for p in kernel.parameters if p.kind is Kind.BLOCK for axis in "xy"
    }


def _uses(kernel: Kernel, p: Parameter, head: Header) -> list[str]:
    """By which names the source knows a parameter, and what they mean there."""
    own = {p.name, f"{p.name}_x", f"{p.name}_y"} if p.kind is Kind.BLOCK else {p.name}
    macros = [name for name, e in kernel.macros if e.text in own]
    meaning = next((head.macros[name] for name in macros if name in head.macros), "")
    size = {"rows", "cols"} if p.kind is Kind.SIZE else set()
    scalars = [
        a.name
        for a in kernel.arguments
        if isinstance(a, ScalarArgument) and not isinstance(a.value, float) and a.value.text in own | size
    ]
    filled = [a.name for a in kernel.arrays if a.fill == p.name]
    names = ", ".join(map(_code, [*macros, *scalars]))
    uses = [f"{names}: {prose(meaning, kernel)}" if meaning else names]
    if not names and (shaped := [a.name for a in kernel.arrays if [e.text for e in a.shape] == [p.name]]):
        uses.append(f"elements of {' and '.join(map(_code, shaped))}")
    if filled:
        uses.append(f"what {', '.join(map(_code, filled))} {'holds' if len(filled) == 1 else 'hold'}")
    if kernel.grid[0].text == p.name:
        uses.append("the grid")
    return uses


def _facts(told: Section, page: Path) -> dict[str, str]:
    kernel = told.kernel
    facts = {}
    if told.finish:
        facts["Finish"] = f"{kernel.finish}, {FINISH[kernel.finish]}"
    if kernel.accesses:
        facts["A warp's request, with the defaults"] = _costs(kernel)
    if kernel.baseline and kernel.baseline != kernel.name:
        facts["Baseline of ratios"] = f"[{kernel.baseline}](#{kernel.baseline.lower()})"
    facts["From"] = prose(kernel.origin, kernel) or "nowhere else"
    facts["Source"] = ", ".join(f"[{p.name}]({relative(p, page)})" for p in (kernel.source, kernel.yaml))
    if told.experiments:
        facts["Experiments"] = ", ".join(f"[{p.stem}]({relative(p, page)})" for p in told.experiments)
    return facts


def _costs(kernel: Kernel) -> str:
    """What the declared accesses cost, `runner.kernel.access` says."""
    told = []
    for name, cost in access.costs(make(kernel, {}, 0)).items():
        if cost is not None:
            memory, kind, unit = name.split("_")
            number = count(int(cost), unit[:-1]) if cost == int(cost) else f"{cost:.1f} {unit}"
            told.append(f"{memory} {kind} {number}")
    return ", ".join(told)
