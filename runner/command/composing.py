"""Composing the jobs of a sweep: Hydra's own composing once for each choice of groups, the values job by job.

Hydra composes a job in some 50 ms, nearly all of which goes into the files that its groups choose. Jobs that choose the
same share the outcome: each job's values are applied to a copy of it, by Hydra's own function.
"""

from __future__ import annotations

import functools
import io
import pickle
from collections.abc import Sequence
from typing import Any

from hydra._internal.config_loader_impl import ConfigLoaderImpl, get_overrides_dirname
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

# Where kernels vary fastest, all of them come in turn: our 41 on two devices are 82 choices.
CHOICES = 128


class Composer:
    """Composes the jobs of one sweep. It keeps what they share, and no job."""

    def __init__(self, loader: ConfigLoaderImpl, master: DictConfig) -> None:
        self._compose = functools.partial(loader.load_sweep_config, master)
        given: Any = OmegaConf.to_container(master.hydra.overrides.hydra, resolve=False)
        # Hydra makes one for each job; unlike the loader's own, it knows the groups in `hydra.searchpath`.
        _, self._repository = loader._parse_overrides_and_create_caching_repo(  # noqa: SLF001  (there is no other way)
            master.hydra.job.config_name, given
        )
        self._parser = OverridesParser.create()
        self._read = functools.lru_cache(maxsize=4096)(self._read_override)
        self._shared = functools.lru_cache(maxsize=CHOICES)(self._compose_choice)

    def job(self, overrides: Sequence[str], number: int) -> DictConfig:
        """Compose one job.

        Returns:
            What Hydra's `load_sweep_config` makes of its overrides, with its number in it.

        Raises:
            HydraException: what Hydra raises where it cannot be composed.
        """
        read = [self._read(text) for text in overrides]
        composed = self._shared(tuple(str(o.input_line) for o, is_value in read if not is_value)).copy()
        ConfigLoaderImpl._apply_overrides_to_config([o for o, is_value in read if is_value], composed)  # noqa: SLF001
        _tell(composed.hydra, [o for o, _ in read if not o.is_hydra_override()], number)
        return composed

    def _compose_choice(self, overrides: tuple[str, ...]) -> _Original:
        return _Original(self._compose(list(overrides)))

    def _read_override(self, text: str) -> tuple[Override, bool]:
        """An override, and whether it is a value that is set once everything is composed; all else is Hydra's own."""
        (override,) = self._parser.parse_overrides([text])
        if override.package or override.is_sweep_override() or override.key_or_group.partition(".")[0] == "hydra":
            return override, False
        # Hydra's rule: a dictionary is merged into the group's choice, it does not choose.
        return override, isinstance(override.value(), dict) or not self._repository.group_exists(override.key_or_group)


class _Original:
    """A configuration to make copies of. It is kept pickled: that makes a copy in a third of `copy.deepcopy`'s time."""

    def __init__(self, composed: DictConfig) -> None:
        content = io.BytesIO()
        pickler = _Pickler(content, pickle.HIGHEST_PROTOCOL)
        pickler.dump(composed)
        self._content, self._classes = content.getvalue(), tuple(pickler.classes)

    def copy(self) -> DictConfig:
        """An independent copy."""
        unpickler = _Unpickler(io.BytesIO(self._content))
        unpickler.classes = self._classes
        copied: DictConfig = unpickler.load()
        return copied


class _Pickler(pickle.Pickler):
    """Leaves classes alone: the schema's are made at start and could not be found by their names."""

    def __init__(self, content: io.BytesIO, protocol: int) -> None:
        super().__init__(content, protocol)
        self.classes: dict[type, int] = {}

    def persistent_id(self, part: Any) -> int | None:
        return self.classes.setdefault(part, len(self.classes)) if isinstance(part, type) else None


class _Unpickler(pickle.Unpickler):
    classes: tuple[type, ...] = ()

    def persistent_load(self, number: int) -> type:
        return self.classes[number]


def _tell(hydra: DictConfig, overrides: Sequence[Override], number: int) -> None:
    """Put a job's overrides and its number into Hydra's node, where Hydra puts them."""
    style = hydra.job.config.override_dirname
    with read_write(hydra), open_dict(hydra):
        hydra.overrides.task = [override.input_line for override in overrides]
        hydra.job.override_dirname = get_overrides_dirname(
            list(overrides), exclude_keys=style.exclude_keys, item_sep=style.item_sep, kv_sep=style.kv_sep
        )
        hydra.job.id = hydra.job.num = number
