"""Options for a GPU's compiler that belong to a case: the parameter `compile_options`.

nvcc and NVRTC have the same options. Only options that change the generation of device code are allowed. Macros and
include folders are declared in the kernel's YAML; the device determines the architecture.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

NONE = "none"
PTXAS = "-Xptxas"
MAX_OPTIONS = 16

RELAXED = "--expt-relaxed-constexpr"  # a kernel may call constexpr functions of the host
LAMBDA = "--expt-extended-lambda"

# The corresponding fields of cuda.core.ProgramOptions.
FLAGS = {"--use_fast_math": "use_fast_math", "--extra-device-vectorization": "extra_device_vectorization",
         "--restrict": "restrict", "--generate-line-info": "lineinfo",
         # NVRTC has no functions of the host: what has no annotation is the device's.
         RELAXED: "device_as_default_execution_space",
         LAMBDA: ""}  # which NVRTC lacks  # fmt: skip
VALUES = {"--maxrregcount": "max_register_count", "--ftz": "ftz", "--prec-div": "prec_div", "--prec-sqrt": "prec_sqrt",
          "--fmad": "fma"}  # fmt: skip
LINES = "--generate-line-info"
PTX = "--ptx"  # compiles to PTX instead of machine code; not allowed in a case
_LONG = {"-lineinfo": LINES, **{name[1:]: name for name in (*FLAGS, *VALUES)}, "--ptxas-options": PTXAS,
         "-extended-lambda": LAMBDA, "--extended-lambda": LAMBDA}  # fmt: skip
_WORD = re.compile(r"--?[A-Za-z][\w-]*(=[\w.+:/,=-]*)?")
_OF_PTXAS = re.compile(r"--?(?!(o|c|arch|optf|output-file|options-file|gpu-name|compile-only)\b)[A-Za-z][\w-]*(=\w+)?")
# PyTorch's builder undefines these, which hide the operators and conversions of half types.
_UNDEFINED = re.compile(r"-U__CUDA_NO_(?:HALF|HALF2|BFLOAT16|BFLOAT162)_(?:OPERATORS|CONVERSIONS)__")
_FAST = re.compile(r"-use_fast_math|-(ftz|-ftz)[= ]?true|-prec-(div|sqrt)[= ]?false")

_REFUSED = {
    "-D": "macros are declared in the kernel's YAML, as parameters under 'macros'",
    "-I": "folders to include are declared in the kernel's YAML, under 'include'",
    **dict.fromkeys(("-arch", "-gencode"), "the GPU decides on the architecture"),
}


def canonical(text: str) -> str:
    """Convert options to their canonical form: long names, `=` before values, one ptxas option per word.

    `none` stands for no options. Raises ValueError if the text is malformed.
    """
    if text == NONE:
        return NONE
    words: list[str] = []
    remaining = text.split()
    while remaining:
        name, equals, value = remaining.pop(0).partition("=")
        name = _LONG.get(name, name)
        if (name in VALUES or name == PTXAS) and not equals and remaining:
            equals, value = "=", remaining.pop(0)
        parts = value.split(",") if name == PTXAS else [value]
        words += [f"{name}{equals}{part}" for part in parts]
    if not 1 <= len(words) <= MAX_OPTIONS or not all(map(_WORD.fullmatch, words)):
        raise ValueError(text)
    return " ".join(words)


def split(text: str) -> tuple[str, ...]:
    """The options of a canonical text."""
    return () if text == NONE else tuple(text.split())


def refusal(options: Sequence[str]) -> str:
    """Why the first option that is not allowed is refused; empty if all are allowed."""
    for word in options:
        name, equals, value = word.partition("=")
        if name == PTXAS and not _OF_PTXAS.fullmatch(value):
            return f"'{word}': expected an option of ptxas such as -Xptxas=-dlcm=cg"
        if name == PTXAS or (name in VALUES and value) or (name in FLAGS and not equals) or _UNDEFINED.fullmatch(word):
            continue
        for option, reason in _REFUSED.items():
            if word.lstrip("-").startswith(option.lstrip("-")):
                return f"'{word}': {reason}"
        if name in VALUES or name in FLAGS:
            return f"'{word}': {name} takes {'a value' if name in VALUES else 'no value'}"
        allowed = [*FLAGS, *VALUES, PTXAS]
        near = difflib.get_close_matches(name, allowed, n=1)
        return f"'{word}' is not one of {', '.join(allowed)}{f'; did you mean {near[0]}?' if near else ''}"
    return ""


def ignored_on_cpu(options: Sequence[str]) -> bool:
    """Whether the CPU device ignores any of the options; its compiler has those of the language."""
    return not all(word in (RELAXED, LAMBDA) or _UNDEFINED.fullmatch(word) for word in options)


def nvcc_environment() -> list[str]:
    """The further options of nvcc in environment variables."""
    return [os.environ.get(name, "") for name in ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")]


def is_fast(text: str) -> bool:
    """Whether options reduce accuracy; `-ftz=true` and the like count as `--use_fast_math`."""
    return bool(_FAST.search(text))


def for_nvrtc(options: Sequence[str]) -> Mapping[str, Any]:
    """Allowed options as keyword arguments of cuda.core.ProgramOptions."""
    arguments: dict[str, Any] = {}
    for word in options:
        name, _, value = word.partition("=")
        if name == PTXAS:
            arguments.setdefault("ptxas_options", []).append(value)
        elif name.startswith("-U"):
            arguments.setdefault("undefine_macro", []).append(name[2:])
        elif name != LAMBDA:
            arguments[(FLAGS | VALUES)[name]] = {"": True, "true": True, "false": False}.get(value, value)
    return arguments
