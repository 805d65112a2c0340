"""Find the Python file of a reference, and look into it without running it.

Commands that only look, such as `runner show`, `--help` and `--dry-run`, run no code of a kernel's author. So a
reference is imported in the worker, when a case is checked; before that its file is only parsed.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
from collections.abc import Iterator
from pathlib import Path

from runner.errors import UsageError
from runner.kernel.declaration import Kernel

MAX_BYTES = 4 << 20  # of a file that is parsed
PLACES = "beside the YAML, beside the .cu or in references/ beside the .cu"
NOT_FOUND = f" (no such file {PLACES})"
_DYNAMIC = frozenset(("__getattr__", "globals", "exec", "eval", "setattr", "*"))  # names that may define others


def module_file(kernel: Kernel) -> Path | None:
    """The file of a reference: beside the YAML, beside the `.cu` or in `references/` there; `None` if not found."""
    module = str(kernel.reference).rpartition(".")[0].replace(".", "/") + ".py"
    return _first_file((kernel.yaml.parent, kernel.source.parent, kernel.source.parent / "references"), module)


@functools.lru_cache(maxsize=256)  # a process asks for each case at each size
def _first_file(folders: tuple[Path, ...], name: str) -> Path | None:
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


def installed_file(module: str) -> Path | None:
    """The file of an installed module, found without importing the packages that contain it; `None` if not found."""
    top, *parts = module.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    if not parts:
        found = Path(spec.origin) if spec.origin else None
        return found if found and found.is_file() else None
    below = [Path(folder, *parts) for folder in spec.submodule_search_locations or ()]
    files = [path for folder in below for path in (folder / "__init__.py", folder.with_suffix(".py"))]
    return next((path for path in files if path.is_file()), None)


def check(kernel: Kernel) -> None:
    """Raise `UsageError` if a reference's module is missing or cannot be parsed, or certainly lacks the function."""
    path = str(kernel.reference)
    module, _, function = path.rpartition(".")
    own = module_file(kernel)
    file = own or installed_file(module)
    if file is None:
        raise UsageError(f"reference {path}: there is no file of a module '{module}' {PLACES}, nor an installed one")
    if file.suffix != ".py":  # a compiled module
        return
    names = _names(file, path)
    if function not in names and not names & _DYNAMIC:
        raise UsageError(f"reference {path}: the module '{module}' has no function '{function}'")


@functools.lru_cache(maxsize=256)
def _names(file: Path, reference: str) -> frozenset[str]:
    """All names that a module may define, and those of `_DYNAMIC` that it uses."""
    try:
        with file.open("rb") as opened:
            text = opened.read(MAX_BYTES + 1)
        if len(text) > MAX_BYTES:  # the worker finds out
            return _DYNAMIC
        tree = ast.parse(text, filename=file.name)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as e:
        what = f"{type(e).__name__}: {e}"
        raise UsageError(f"reference {reference}: cannot be imported: {what}") from None
    return frozenset(_defined(tree))


def _defined(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.alias):
            yield node.asname or node.name
