"""Hydra's loader for the configuration folders of a command line.

Our own config source reads the files and checks them against the limits of `runner.files.limited_yaml` first. It
precedes Hydra's file source on the search path, so that every file is checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from hydra import initialize_config_dir
from hydra.core.config_loader import ConfigLoader
from hydra.core.config_search_path import ConfigSearchPath, SearchPathQuery
from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigLoadError, ConfigResult, ConfigSource
from hydra.plugins.search_path_plugin import SearchPathPlugin
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict

from runner.compose import overrides as grammar
from runner.kernel.yaml_reader import config_text

SCHEME = "checked"
HEADER = 512  # leading characters that are searched for `# @package`


class CheckedFiles(ConfigSource):
    """The YAML files below a folder, each checked before it is read."""

    @staticmethod
    def scheme() -> str:
        """The scheme of the search path's entries that this source reads."""
        return SCHEME

    def load_config(self, config_path: str) -> ConfigResult:
        """Called by Hydra."""
        path = self._file(config_path)
        if not path.exists():
            raise ConfigLoadError(f"Config not found : {path}")
        header = ConfigSource._get_header_dict(config_text(path)[:HEADER])  # noqa: SLF001  (for subclasses)
        return ConfigResult(self.provider, self.full_path(), OmegaConf.load(path), header)

    def available(self) -> bool:
        """Whether the folder exists. Called by Hydra."""
        return self.is_group("")

    def is_group(self, config_path: str) -> bool:
        """Whether a folder of this name exists. Called by Hydra."""
        return (Path(self.path) / config_path).is_dir()

    def is_config(self, config_path: str) -> bool:
        """Whether a configuration file of this name exists. Called by Hydra."""
        return self._file(config_path).is_file()

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        """Called by Hydra."""
        names: list[str] = []
        for path in (Path(self.path) / config_path).iterdir():
            self._list_add_result(names, str(Path(config_path) / path.name), path.name, results_filter)
        return sorted(set(names))

    def _file(self, config_path: str) -> Path:
        return Path(self.path) / self._normalize_file_name(config_path)


class CheckedFolders(SearchPathPlugin):
    """Puts the folders of a command line before Hydra's own entry for the primary one."""

    folders: ClassVar[tuple[Path, ...]] = ()  # in Hydra's search order

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Called by Hydra."""
        before = SearchPathQuery(provider="main")
        for folder in reversed(self.folders):
            search_path.prepend("runner", f"{SCHEME}://{folder.absolute()}", before)
            before = SearchPathQuery(provider="runner")


@contextmanager
def open_loader(folders: Sequence[Path], primary: Path) -> Iterator[ConfigLoader]:
    """Hydra's loader with these folders on its search path. `primary` has the main configuration file."""
    plugins: Any = Plugins.instance()
    for plugin in (CheckedFiles, CheckedFolders):
        plugins.register(plugin)
    CheckedFolders.folders = tuple(folders)
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(primary.absolute()), job_name="runner", version_base="1.3"):
        yield GlobalHydra.instance().config_loader()


def compose(loader: ConfigLoader, name: str, overrides: Sequence[str]) -> DictConfig:
    """Compose the configuration that the jobs of a sweep share, including Hydra's node, from the main file `name`.

    Raises HydraException if the overrides or the files cannot be composed; OmegaConfBaseException if a value has the
    wrong type, or a key is unknown.
    """
    shortened = [grammar.shortened(text) for text in overrides]
    config = loader.load_configuration(name, shortened, RunMode.MULTIRUN)
    originals = dict(zip(shortened, overrides, strict=True))
    tasks = grammar.as_written(config.hydra.overrides.task)
    with open_dict(config):
        config.hydra.overrides.task = [originals.get(text, text) for text in tasks]
    return config
