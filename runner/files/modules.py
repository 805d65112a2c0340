"""Import a Python file of the user by its path, as files in different folders may have the same name."""

from __future__ import annotations

import importlib.util
import sys
import zlib
from pathlib import Path
from types import ModuleType


def load(path: Path) -> ModuleType:
    """Import a file, which may import what lies beside it. Raises what its code raises."""
    spec = importlib.util.spec_from_file_location(f"{path.stem}_{zlib.crc32(str(path).encode()):08x}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is not a module")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # writes no __pycache__ into a run folder
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
        sys.path.remove(str(path.parent))
    return module
