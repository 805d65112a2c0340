"""The winners as a C header, in the manner of Kernel Tuner's: `#define` lines, chosen by GPU, group and size.

The program that includes it may define TARGET_<GPU>, TUNED_<GROUP>_<VALUE>, and TUNED_SIZE, or TUNED_ROWS and
TUNED_COLS. A size between two measured ones gets the winner of the larger one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from runner.display.text import one_line
from runner.winners.winner import GROUPS, SIZES, Winner

_TOKEN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|-?[0-9][0-9A-Za-z.+]*")  # what needs no quotes
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def text(winners: Sequence[Winner], origin: str) -> str:
    """The header. `origin` says where the numbers are from."""
    gpus = list(dict.fromkeys(one.gpu for one in winners))
    several = [name for name in GROUPS if len({one.group[name] for one in winners}) > 1]
    groups: dict[tuple[str, ...], list[Winner]] = {}
    for one in winners:
        names = [_target(one.gpu)] if len(gpus) > 1 else []
        names += [_selector(name, one.group[name]) for name in several]
        groups.setdefault(tuple(names), []).append(one)
    lines = [
        f"/* The fastest cases of {_comment(origin)}. Written by `runner export --format header`.",
        *(f"   GPU: {_comment(gpu)}" for gpu in gpus),
        *_how_to_choose(list(groups), winners),
        "*/",
        "#ifndef RUNNER_TUNED_H",
        "#define RUNNER_TUNED_H",
        "",
    ]
    for number, (required, own) in enumerate(groups.items()):
        condition = " && ".join(f"defined({name})" for name in required)
        lines += [f"#{'elif' if number else 'if'} {condition}"] if required else []
        lines += _by_size(own)
    if any(groups):
        choices = " or ".join(" and ".join(required) for required in groups)
        lines += ["#else", f'#error "define {choices}"', "#endif"]
    return "\n".join([*lines, "", "#endif", ""])


def _how_to_choose(groups: Sequence[Sequence[str]], winners: Sequence[Winner]) -> Iterator[str]:
    names = list(dict.fromkeys(name for group in groups for name in group))
    if names:
        yield f"   Define what applies: {', '.join(names)}."
    if len({tuple(one.size.items()) for one in winners}) > 1:
        sizes = list(dict.fromkeys(_size_name(name) for one in winners for name in _dimensions(one)))
        yield f"   Define {' and '.join(sizes)} for the winner at the next larger size; without, that of the largest."


def _by_size(winners: Sequence[Winner]) -> Iterator[str]:
    """The definitions of each size, ascending; the last ones apply to everything larger, too."""
    for number, one in enumerate(winners):
        names = _dimensions(one)
        last = number == len(winners) - 1
        tests = [f"defined({_size_name(name)})" for name in names]
        tests += [f"{_size_name(name)} <= {one.size[name]}" for name in names]
        if len(winners) > 1:
            yield "#else" if last else f"#{'elif' if number else 'if'} {' && '.join(tests)}"
        yield from _definitions(one)
    if len(winners) > 1:
        yield "#endif"


def _definitions(one: Winner) -> Iterator[str]:
    size = " x ".join(f"{one.size[name]}" for name in _dimensions(one)) or "no size"
    tied = f", tied with {one.tied} of {one.among - 1} others" if one.tied else ""
    yield f"/* {_comment(one.gpu)}, {size}: {one.numbers['median_us']:.4g} us{tied} */"
    yield f"#define TUNED_KERNEL {_value(one.kernel)}"
    for name, value in one.parameters.items():
        yield f"#define TUNED_{_upper(name)} {_value(value)}"
    defined = {f"TUNED_{_upper(name)}" for name in (*one.parameters, "kernel")}
    for name, value in one.macros.items():
        if name not in defined and _NAME.fullmatch(name):
            yield f"#define {name} {one_line(value)}"


def _dimensions(one: Winner) -> list[str]:
    """The sizes that tell winners apart: rows and columns if the kernel has both."""
    both = [name for name in SIZES[1:] if name in one.size]
    return both if len(both) > 1 else [name for name in SIZES[:1] if name in one.size]


def _size_name(name: str) -> str:
    return f"TUNED_{_upper(name)}"


def _target(gpu: str) -> str:
    return f"TARGET_{_upper(gpu)}"


def _selector(name: str, value: str) -> str:
    return f"TUNED_{_upper(name)}_{_upper(value)}" if value else f"TUNED_{_upper(name)}_NONE"


def _upper(words: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", words).strip("_").upper()


def _value(words: str) -> str:
    return words if _TOKEN.fullmatch(words) else json.dumps(words)


def _comment(words: str) -> str:
    return one_line(words).replace("*/", "* /").replace("/*", "/ *")
