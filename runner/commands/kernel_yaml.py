"""The YAML of a kernel with its family's: the work of `runner show NAME`. It needs no Hydra."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from runner.cli import escaped
from runner.compose import arguments, names, search_path
from runner.compose.group_files import check_kernel, is_composed
from runner.display.console import short_path
from runner.errors import UsageError
from runner.jobs.job import read_kernel
from runner.kernel import from_yaml
from runner.kernel.declaration import value_text
from runner.kernel.yaml_reader import read_yaml

MAX_SUGGESTIONS, MIN_SIMILARITY = 3, 0.75
MAX_LINE = 110  # characters of a collection on one line, quotes included
LAUNCH_KEYS = ("grid", "shared", "cooperative")
MAX_WIDTH = 4096  # line width for PyYAML, so that it breaks no text


def show(name: str, config_dir: str | None) -> None:
    """Print the YAML of a kernel or an experiment."""
    folders = search_path.search_path(arguments.read([] if config_dir is None else ["--config-dir", config_dir]))
    kernels, experiments = (names.by_name(folders, group) for group in ("kernel", "experiment"))
    path = kernels.get(name) or experiments.get(name)
    if path is None:
        near = difflib.get_close_matches(name, [*kernels, *experiments], n=MAX_SUGGESTIONS, cutoff=MIN_SIMILARITY)
        question = f"did you mean {' or '.join(near)}?" if near else "`runner show` lists all names"
        raise UsageError(f"{name}: unknown kernel or experiment; {question}")
    if name in kernels:
        check_kernel(name, folders)
        if not is_composed(path, content := read_yaml(path)):
            sys.stdout.write(kernel_text(path, content, folders))
            return
    sys.stdout.write(escaped(f"# {short_path(path)}\n{path.read_text(encoding='utf-8').rstrip()}\n", kept="\n\t"))


def kernel_text(path: Path, content: Any, folders: Sequence[Path]) -> str:
    """A kernel's summary, files and parameters as comments, then its YAML. The whole text is valid YAML."""
    kernel = read_kernel(path.stem, content, path, folders)
    family = f", with {short_path(kernel.common)}" if kernel.common else ""
    lines = [f"# {kernel.name}: {kernel.summary}".rstrip(": "), "#"]
    lines += [f"# YAML:   {short_path(path)}{family}", f"# source: {', '.join(map(short_path, kernel.sources))}", "#"]
    width = max(len(p.name) for p in kernel.parameters)
    for p in kernel.parameters:
        allowed = f"  (one of {', '.join(value_text(p.kind, v) for v in p.allowed)})" if p.allowed else ""
        computed = f"{', '.join(e.text for e in p.computed)} = " if p.computed else ""
        lines.append(f"# {p.name:{width}} = {computed}{value_text(p.kind, p.default)}{allowed}")
    own = read_yaml(path, _Loader)
    merged = from_yaml.composed(own, path, folders, _Loader)
    if kernel.form.calls_host:  # it has no launch, though its family may have one
        merged = {key: value for key, value in merged.items() if key in own or key not in LAUNCH_KEYS}
    ordered = {**{key: merged[key] for key in own}, **merged}  # its own keys first
    text = yaml.dump(ordered, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=MAX_WIDTH)
    return "\n".join([*map(escaped, lines), "", text])


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
    return len(repr(content)) <= MAX_LINE and "\n" not in repr(content)


for _kind in ("str", "int", "float", "bool", "null", "timestamp"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_kind}", _Loader.construct_as_written)
_Dumper.add_representer(_Scalar, lambda dumper, scalar: dumper.represent_scalar(scalar.tag, str(scalar)))
