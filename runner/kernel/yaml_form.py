"""Read what a kernel's source holds, and the keys that only some forms have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from runner.device import BINARIES, CUDA_ENDINGS, Form, cache, form_of
from runner.errors import UsageError
from runner.kernel.yaml_reader import Reader, shown

GPU_ONLY = {
    Form.HOST: "a host function, which calls CUDA's runtime or a library",
    Form.BINARY: "compiled for a GPU",
}
"""Why the kernels of a form run on a GPU alone."""

FOREIGN = {
    Form.PYTHON: ("macros", "include", "grid", "shared", "cooperative", "shuffle"),
    Form.HOST: ("grid", "shared", "cooperative", "shuffle"),
    Form.BINARY: ("macros", "include"),
}
"""The keys that a form lacks."""


def find(d: Reader, *names: str) -> Path:
    """The first of these files, relative to the YAML's folder, that is there. Raises UsageError if none is."""
    where = f"{d.where}: source"
    for text in names:
        try:
            source = (d.folder / text).resolve()
            if source.is_file():
                if source.suffix not in (*CUDA_ENDINGS, *BINARIES, ".py"):
                    endings = ", ".join((*CUDA_ENDINGS, *BINARIES, ".py"))
                    raise UsageError(
                        f"{where}: '{text}' is no source by its name; expected a file that ends in {endings}"
                    )
                cache.read(source)
                return source
            if source.exists():
                raise UsageError(f"{where}: '{text}' is not a file, but a folder, a pipe or a device")
        except (OSError, RuntimeError, ValueError) as e:  # no permission, a link to itself, a name too long or with NUL
            raise UsageError(f"{where}: '{text}' cannot be read: {getattr(e, 'strerror', None) or e}") from None
    raise UsageError(f"{where}: the file '{names[0]}' was not found in {d.folder}")


def further(launches: Any) -> Iterator[str]:
    """The sources that launches name, as the key `launches` writes them."""
    for entry in launches if isinstance(launches, list) else ():
        if isinstance(entry, dict):
            yield from further(entry.get("launches"))
            if isinstance(entry.get("source"), str):
                yield entry["source"]


def moved(launches: Any, place: Callable[[str], str]) -> Any:
    """The key `launches` with other names of sources, which `place` gives."""
    if isinstance(launches, list):
        return [moved(entry, place) for entry in launches]
    if not isinstance(launches, dict):
        return launches
    changed = {"source": place(launches["source"])} if isinstance(launches.get("source"), str) else {}
    inner = {"launches": moved(launches["launches"], place)} if "launches" in launches else {}
    return {**launches, **changed, **inner}


def read(d: Reader, source: Path, own: Mapping[str, Any]) -> Form:
    """What the source holds. Keys of the family that this form lacks are dropped; such keys of its own are refused."""
    form = form_of(source, host=d.flag("host", default=False))
    if d.flag("host", default=False) and form is not Form.HOST:
        raise UsageError(f"{d.where}: host: {source.name} is no CUDA source; remove the key")
    for key in FOREIGN.get(form, ()):
        if key in own:
            raise UsageError(f"{d.where}: {key}: {form.label} ({source.name}) has no {key}; remove the key")
        d.raw.pop(key, None)
    return form


def libraries(d: Reader, form: Form) -> Iterator[str]:
    """The libraries that a host function is linked with."""
    given = d.raw.get("libraries", [])
    names = given if isinstance(given, list) else [given]
    if names and form is not Form.HOST:
        raise UsageError(f"{d.where}: libraries: only a host function ('host: true') is linked with libraries")
    for name in names:
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_][\w.+-]*", name):
            raise UsageError(f"{d.where}: libraries: {shown(name)}: expected the name of a library, such as cublas")
        yield name
