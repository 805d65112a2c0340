"""A folder of candidates for `runner judge`: one kernel each, made into configuration folders that Hydra reads.

NAME.cu + NAME.yaml  a kernel of its own
NAME.cu              a kernel that shares the YAML of the baseline, its arguments, reference and parameters
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from runner.compose import arguments, names, search_path
from runner.device import cache, syntax
from runner.errors import UsageError
from runner.files import scratch
from runner.jobs.job import read_kernel
from runner.kernel import from_yaml, yaml_form
from runner.kernel.declaration import Kernel
from runner.kernel.recipes import files as data_files
from runner.kernel.reference_file import module_file
from runner.kernel.yaml_keys import KERNEL_NAME, KERNEL_NAMES
from runner.kernel.yaml_reader import config_text, read_yaml

_INCLUDED = re.compile(r'^\s*#\s*include\s*"([^"\n]+)"', re.MULTILINE)


@dataclass(frozen=True)
class Candidates:
    """The candidates of a folder, and the configuration folders that have their YAML."""

    names: tuple[str, ...]  # that can be run, in alphabetical order
    unusable: Mapping[str, str]  # names of the others, and why
    folders: tuple[Path, ...]  # for hydra.searchpath


@contextmanager
def opened(folder: Path, baseline: str, words: Sequence[str]) -> Iterator[Candidates]:
    """Find the candidates of a folder. Their configuration folders exist until the context ends.

    Nothing is written into the user's folder.

    Args:
        folder: The user's folder.
        baseline: The name of the baseline, which may lie in this folder, with its YAML.
        words: The other words of the sweep's command line, which may name configuration folders.

    Raises:
        UsageError: The folder has no candidate, one has the name of the baseline, or some lack a YAML and that of the
            baseline cannot be shared.
    """
    sources = {path.stem: path for path in sorted(folder.glob("*.cu"))}
    own = {path.stem: path for path in sorted(folder.glob("*.yaml"))}
    if baseline in sources and baseline not in own:
        raise UsageError(f"{sources[baseline]}: has the name of the baseline; rename it, or add its {baseline}.yaml")
    stems = [stem for stem in sorted({*sources, *own}) if stem != baseline]
    if not stems:
        raise UsageError(f"{folder}: there is no candidate; expected NAME.cu, with or without a NAME.yaml")
    wrong = f"is not a valid kernel name; allowed: {KERNEL_NAMES}"
    unusable = {stem: f"'{stem}' {wrong}" for stem in stems if not KERNEL_NAME.fullmatch(stem)}
    known = search_path.search_path(arguments.read(words))
    # Hydra would take that kernel instead.
    for stem, path in names.by_name(known[:-1], "kernel").items():
        if stem in stems and not (stem in own and own[stem].samefile(path)):
            unusable[stem] = f"'{stem}' is also the name of {path}; rename the candidate"
    usable = [stem for stem in stems if stem not in unusable]
    with scratch.folder() as temporary:
        with_yaml, shared = temporary / "own", temporary / "shared"
        folders = []
        if own:  # a link, so that paths in these files stay valid
            with_yaml.mkdir()
            (with_yaml / "kernel").symlink_to(folder.resolve())
            folders.append(with_yaml)
        if alone := [stem for stem in usable if stem not in own]:
            (shared / "kernel").mkdir(parents=True)
            template = _template(baseline, [*folders, *known])
            for stem in alone:
                text = yaml.safe_dump(template.yaml_of(sources[stem]), sort_keys=False)
                (shared / "kernel" / f"{stem}.yaml").write_text(text, encoding="utf-8")
            template.copy_files(shared / "kernel")
            folders.append(shared)
        yield Candidates(tuple(usable), unusable, tuple(folders))


@dataclass(frozen=True)
class _Template:
    """The baseline, whose YAML candidates share."""

    kernel: Kernel
    content: Mapping[str, Any]  # of its YAML, merged with that of its family

    def yaml_of(self, source: Path) -> dict[str, Any]:
        """The content of a candidate's YAML, given its source."""
        text = cache.read(source)
        content = {key: value for key, value in self.content.items() if key not in ("name", "source", "include")}
        folder = self.kernel.source.parent
        # A candidate that was made from the baseline includes what the baseline includes.
        beside = [
            name for name in _INCLUDED.findall(text) if not (source.parent / name).exists() and (folder / name).exists()
        ]
        include = [str(path) for path in (*self.kernel.include, *([folder] if beside else []))]
        content |= {"source": str(source.resolve()), **({"include": include} if include else {})}
        content |= {"summary": f"a candidate that shares the YAML of {self.kernel.name}", "family": self.kernel.family}
        if "launches" in content:
            beside_yaml = self.kernel.yaml.parent
            content["launches"] = yaml_form.moved(content["launches"], lambda name: str((beside_yaml / name).resolve()))
        else:
            content["function"] = self._function(text, source.stem)
        return content

    def copy_files(self, target: Path) -> None:
        """Copy what the baseline's YAML names by paths relative to it: arrays, and modules with references.

        They are the baseline's: a file in the candidates' folder cannot take their place.
        """
        if isinstance(self.kernel.reference, str) and (module := module_file(self.kernel)):
            depth = str(self.kernel.reference).count(".") - 1  # packages above the module
            root = module.parents[depth]
            for path in module.parent.glob("*.py"):  # which the module may import
                _copy(path, target / path.relative_to(root))
        yaml_folder = self.kernel.yaml.parent.resolve()
        for path in {path for array in self.kernel.arrays for path in data_files(array.fill)}:
            _copy(path, target / path.relative_to(yaml_folder))

    def _function(self, text: str, name: str) -> str:
        """The candidate's function: named as the baseline's, else as the file, else the only one.

        If there is none of them, the compiler says that the baseline's is missing.
        """
        declared = str(self.content.get("function") or self.kernel.name)
        functions = [kernel.name for kernel in syntax.parse(text).kernels]
        if re.split(r"[<( ]", declared)[0] in functions:
            return declared
        return name if name in functions else functions[0] if len(functions) == 1 else declared


def _template(baseline: str, folders: Sequence[Path]) -> _Template:
    paths = names.by_name(folders, "kernel")
    if baseline not in paths:
        raise UsageError(
            f"--baseline {baseline}: there is no such kernel; `runner show` lists all{names.nearest(baseline, paths)}"
        )
    path = paths[baseline]
    if re.search(r"^defaults:|\$\{", config_text(path), re.MULTILINE):
        raise UsageError(f"{path}: has `defaults` or ${{...}}, so candidates cannot share it; give each its NAME.yaml")
    content = read_yaml(path)
    kernel = read_kernel(baseline, content, path, folders)
    return _Template(kernel, from_yaml.composed(content, path, folders))


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
