"""Options for a GPU's compiler that belong to a case: the parameter `compile_options`.

nvcc and NVRTC take the same words. Only options that change how device code is made are taken. What another option
would change has a place of its own: macros and headers in the kernel's YAML, the architecture in the device.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any

NONE = "none"
NVCC_FLAGS = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")  # environment variables from which nvcc takes options
PTXAS = "-Xptxas"
MOST = 16

# By the name of the same option in cuda.core.ProgramOptions.
FLAGS = {"--use_fast_math": "use_fast_math", "--extra-device-vectorization": "extra_device_vectorization",
         "--restrict": "restrict", "--generate-line-info": "lineinfo"}  # fmt: skip
VALUES = {"--maxrregcount": "max_register_count", "--ftz": "ftz", "--prec-div": "prec_div", "--prec-sqrt": "prec_sqrt",
          "--fmad": "fma"}  # fmt: skip
LINES = "--generate-line-info"
PTX = "--ptx"  # not an option of a case: for PTX in place of machine code
_LONG = {"-lineinfo": LINES, **{name[1:]: name for name in (*FLAGS, *VALUES)}, "--ptxas-options": PTXAS}
_WORD = re.compile(r"--?[A-Za-z][\w-]*(=[\w.+:/,=-]*)?")
_OF_PTXAS = re.compile(r"--?(?!(o|c|arch|optf|output-file|options-file|gpu-name|compile-only)\b)[A-Za-z][\w-]*(=\w+)?")
_FAST = re.compile(r"-use_fast_math|-(ftz|-ftz)[= ]?true|-prec-(div|sqrt)[= ]?false")

ELSEWHERE = {
    "-D": "macros are declared in the kernel's YAML, as parameters under 'macros'",
    "-I": "folders to include are declared in the kernel's YAML, under 'include'",
    "-arch": "the GPU decides on the architecture",
    "-gencode": "the GPU decides on the architecture",
}


def canonical(text: str) -> str:
    """Options in one form: long names, `=` before values, one option of ptxas in a word; `none` for no option.

    A `ValueError` if the text cannot be options.
    """
    if text == NONE:
        return NONE
    words: list[str] = []
    given = text.split()
    while given:
        name, equals, value = given.pop(0).partition("=")
        name = _LONG.get(name, name)
        if (name in VALUES or name == PTXAS) and not equals and given:
            equals, value = "=", given.pop(0)
        parts = value.split(",") if name == PTXAS else [value]
        words += [f"{name}{equals}{part}" for part in parts]
    if not 1 <= len(words) <= MOST or not all(map(_WORD.fullmatch, words)):
        raise ValueError(text)
    return " ".join(words)


def words(text: str) -> tuple[str, ...]:
    """The options of a canonical text."""
    return () if text == NONE else tuple(text.split())


def refusal(given: Sequence[str]) -> str:
    """Why the first option that is not taken is not; empty if all are."""
    for word in given:
        name, equals, value = word.partition("=")
        if name == PTXAS and not _OF_PTXAS.fullmatch(value):
            return f"'{word}': expected an option of ptxas such as -Xptxas=-dlcm=cg"
        if name == PTXAS or (name in VALUES and value) or (name in FLAGS and not equals):
            continue
        for option, place in ELSEWHERE.items():
            if word.lstrip("-").startswith(option.lstrip("-")):
                return f"'{word}': {place}"
        if name in VALUES or name in FLAGS:
            return f"'{word}': {name} takes {'a value' if name in VALUES else 'no value'}"
        known = [*FLAGS, *VALUES, PTXAS]
        near = difflib.get_close_matches(name, known, n=1)
        return f"'{word}' is not one of {', '.join(known)}{f'; did you mean {near[0]}?' if near else ''}"
    return ""


def is_fast(text: str) -> bool:
    """Whether options tell a compiler to compute less exactly; single ones count as `--use_fast_math`."""
    return bool(_FAST.search(text))


def for_nvrtc(given: Sequence[str]) -> Mapping[str, Any]:
    """Options that are not refused, as keywords of cuda.core.ProgramOptions."""
    found: dict[str, Any] = {}
    for word in given:
        name, _, value = word.partition("=")
        if name == PTXAS:
            found.setdefault("ptxas_options", []).append(value)
        elif name in FLAGS:
            found[FLAGS[name]] = True
        else:
            found[VALUES[name]] = {"true": True, "false": False}.get(value, value)
    return found
