"""`runner show KERNEL` prints its YAML merged with its family's. Without a name it lists kernels and experiments."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from runner.cli import Parser, run_command
from runner.display.console import short_path
from runner.errors import UsageError

NEAR, LIKENESS = 3, 0.75  # most names to suggest, and their least similarity
ONE_LINE = 110  # most characters of a collection on one line, quotes included
UNBROKEN = 4096  # line width for PyYAML, so that it breaks no text


def main(arguments: Sequence[str] | None = None) -> int:
    """Show a kernel or an experiment, or list all; returns the exit status."""
    parser = Parser("show", "Show the YAML of a kernel or an experiment; without a name, list what can be chosen.")
    parser.add_argument("name", nargs="?", help="a kernel or an experiment")
    parser.add_argument("--config-dir", "-cd", metavar="DIR", help="the folder with your own kernel/NAME.yaml")
    given = parser.parse_args(arguments)
    return run_command(lambda: _show(given.name, given.config_dir))


def _show(name: str | None, config_dir: str | None) -> int:
    from runner.compose import arguments, checks, contents, schema, search_path  # noqa: PLC0415  (Ctrl-C is quiet from the start)
    from runner.kernel.yaml_reader import read_yaml  # noqa: PLC0415

    folders = search_path.search_path(arguments.read([] if config_dir is None else ["--config-dir", config_dir]))
    if name is None:
        schema.register(folders)
        sys.stdout.write(contents.choices(folders))
        return 0
    kernels, experiments = (contents.by_name(folders, group) for group in ("kernel", "experiment"))
    if name in kernels:
        checks.check_kernel(name, folders)
        path, content = kernels[name], read_yaml(kernels[name])
        composed = contents.is_composed(path, content)
        sys.stdout.write(_as_written(path) if composed else _kernel(path, content, folders))
    elif name in experiments:
        sys.stdout.write(_as_written(experiments[name]))
    else:
        near = difflib.get_close_matches(name, [*kernels, *experiments], n=NEAR, cutoff=LIKENESS)
        question = f"did you mean {' or '.join(near)}?" if near else "`runner show` lists all names"
        raise UsageError(f"{name}: unknown kernel or experiment; {question}")
    return 0


def _as_written(path: Path) -> str:
    return f"# {short_path(path)}\n{path.read_text(encoding='utf-8').rstrip()}\n"


def _kernel(path: Path, content: Any, folders: Sequence[Path]) -> str:
    """A kernel's summary, files and parameters as comments, then its YAML. The whole text is valid YAML."""
    from runner.jobs.job import read_kernel  # noqa: PLC0415
    from runner.kernel import from_yaml  # noqa: PLC0415
    from runner.kernel.declaration import written  # noqa: PLC0415
    from runner.kernel.yaml_reader import read_yaml  # noqa: PLC0415

    kernel = read_kernel(path.stem, content, path, folders)
    family = f", with {short_path(kernel.common)}" if kernel.common else ""
    lines = [f"# {kernel.name}: {kernel.summary}".rstrip(": "), "#"]
    lines += [f"# YAML:   {short_path(path)}{family}", f"# source: {short_path(kernel.source)}", "#"]
    width = max(len(p.name) for p in kernel.parameters)
    for p in kernel.parameters:
        allowed = f"  (one of {', '.join(written(p.kind, v) for v in p.allowed)})" if p.allowed else ""
        lines.append(f"# {p.name:{width}} = {written(p.kind, p.default)}{allowed}")
    kept = read_yaml(path, _Loader)
    whole = from_yaml.composed(kept, path, folders, _Loader)
    ordered = {**{key: whole[key] for key in kept}, **whole}  # its own keys first
    text = yaml.dump(ordered, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=UNBROKEN)
    return "\n".join([*lines, "", text])


class _Scalar(str):
    """A scalar as written in the file: 0xffffffff, not 4294967295."""

    __slots__ = ("tag",)
    tag: str  # its YAML tag


class _Loader(yaml.SafeLoader):
    """Keeps scalars as written."""

    def construct_as_written(self, node: yaml.ScalarNode) -> _Scalar:
        scalar = _Scalar(self.construct_scalar(node))
        scalar.tag = node.tag
        return scalar


class _Dumper(yaml.SafeDumper):
    """Writes scalars as written, and puts a collection on one line if it fits."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True

    def represent_mapping(self, tag: str, mapping: Any, flow_style: Any = None) -> yaml.MappingNode:
        return super().represent_mapping(tag, mapping, flow_style or _fits(mapping))

    def represent_sequence(self, tag: str, sequence: Any, flow_style: Any = None) -> yaml.SequenceNode:
        return super().represent_sequence(tag, sequence, flow_style or _fits(sequence))

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002
        """Indent a list below its key; PyYAML calls this."""
        super().increase_indent(flow, indentless=False)


def _fits(content: Any) -> bool:
    return len(repr(content)) <= ONE_LINE and "\n" not in repr(content)


for _kind in ("str", "int", "float", "bool", "null", "timestamp"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_kind}", _Loader.construct_as_written)
_Dumper.add_representer(_Scalar, lambda dumper, scalar: dumper.represent_scalar(scalar.tag, str(scalar)))


if __name__ == "__main__":
    sys.exit(main())
