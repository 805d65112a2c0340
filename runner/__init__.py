"""A declarative experiment runner for CUDA kernels."""

import sys
from pathlib import Path

__version__ = "0.2.0"

# Hydra looks for plugins in packages named `hydra_plugins` on the import path; ours lies inside this package.
_plugins = str(Path(__file__).parent / "_plugins")
if _plugins not in sys.path:
    sys.path.append(_plugins)
