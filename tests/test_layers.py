"""Packages of runner/ depend on those below them only. The arrows that still go up are listed, and may only become fewer."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

RUNNER = Path(__file__).parent.parent / "runner"

# From the bottom to the top. A module of runner/ itself is a package of its own; those of a floor do not know each other.
FLOORS = (
    "children display errors interruption statistics",
    "bounds columns files",
    "cli device",
    "device.cpu device.cuda kernel",
    "device.checked jobs",
    "record",
    "sweep",
    "stages.checked",
    "stages.code stages.lines stages.profile stages.races",
    "stages",
    "ci report search shards winners",
    "compare compose importer",
    "history",
    "commands",
    "api",
    "pytest_plugin",
)
BACK_ENDS = ("checked", "cpu", "cuda")
UPWARD: set[str] = set()
LATE = re.compile(r"(runner(?:\.\w+)+):\w+")  # a function that `cli.run_function` imports


def package(module: str) -> str:
    """The package of a module such as `runner.device.cpu.build`; kinds of devices and stages are packages of their own."""
    first, *rest = module.split(".")[1:] or [""]
    if rest[-1:] == ["columns"]:  # a stage declares its columns in a leaf that imports nothing else of ours
        return "columns"
    own = (first == "device" and rest[:1] and rest[0] in BACK_ENDS) or (
        first == "stages" and rest[:1] not in ([], ["all"])
    )
    return f"{first}.{rest[0]}" if own else first


def is_for_types_alone(node: ast.AST) -> bool:
    """Whether nothing is imported when the program runs."""
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes of a module, of functions too, but for what is imported for types alone."""
    for child in ast.iter_child_nodes(tree):
        if not is_for_types_alone(child):
            yield child
            yield from nodes(child)


def imported(path: Path, name: str, known: frozenset[str]) -> Iterator[str]:
    """The modules of runner/ that a module imports, in any form."""
    for node in nodes(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            parts = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
            base = ".".join(parts[: len(parts) - node.level + 1]) if node.level else ""
            base = ".".join(filter(None, (base, node.module)))
            for alias in node.names:
                each = f"{base}.{alias.name}"
                yield from ([each] if each in known else [base] if base in known else [])
        elif isinstance(node, ast.Constant) and (function := LATE.fullmatch(str(node.value))):
            yield from {function[1]} & known


def arrows(folder: Path) -> dict[str, set[str]]:
    """For each package, the other packages that it imports."""
    paths = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    known = frozenset(paths)
    found: dict[str, set[str]] = {}
    for name, path in paths.items():
        targets = {package(each) for each in imported(path, name, known)} - {"", package(name)}
        if package(name) not in ("", "__main__"):
            found.setdefault(package(name), set()).update(targets)
    return found


def upward(found: dict[str, set[str]]) -> set[str]:
    """The arrows that do not go to a lower floor."""
    floor = {name: number for number, names in enumerate(FLOORS) for name in names.split()}
    return {f"{a} -> {b}" for a, others in found.items() for b in others if floor[b] >= floor[a]}


def test_packages_depend_on_lower_ones_only():
    """Each package is on a floor, and imports from lower floors; what goes up is listed, and nothing else is."""
    found = arrows(RUNNER)
    assert {name for names in FLOORS for name in names.split()} == set(found)
    assert upward(found) == UPWARD


def test_every_form_of_import_is_seen(tmp_path):
    """Imports of modules, of names, relative ones and those in functions count; those for types alone do not."""
    folder = tmp_path / "runner"
    forms = {
        "errors": "",
        "sweep": "from runner import report",
        "kernel": "def late():\n    import runner.sweep",
        "device": "if TYPE_CHECKING:\n    from runner.sweep import engine",
        "report": "from .errors import told",
    }
    for name, text in forms.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text("")
        (folder / name / "part.py").write_text(text.replace(".errors", "..errors"))
    (folder / "__init__.py").write_text("")
    expected = {"sweep": {"report"}, "kernel": {"sweep"}, "report": {"errors"}}
    assert arrows(folder) == {name: expected.get(name, set()) for name in forms}
    assert upward(arrows(folder)) == {"sweep -> report", "kernel -> sweep"}
