"""nvdisasm, NVIDIA's disassembler: of a toolkit, or of the package nvidia-cuda-nvdisasm."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

from runner.device.cuda.nvrtc import toolkits

LIMIT_S = 60.0
MOST_BYTES = 64 << 20  # of output
PACKAGES = ("cu13", "cuda_nvdisasm")


def find() -> str | None:
    """Its path: on the PATH, in a toolkit, or in a package."""
    own = importlib.util.find_spec("nvidia")
    packages = [Path(p) / n for p in own.submodule_search_locations or [] for n in PACKAGES] if own else []
    folders = [*(f"{home}/bin" for home in toolkits()), *(str(p / "bin") for p in packages)]
    return shutil.which("nvdisasm") or shutil.which("nvdisasm", path=os.pathsep.join(folders))


def disassembled(tool: str, cubin: Path) -> str:
    """The disassembly of a cubin, with source lines if it has line information. Raises OSError if that fails."""
    try:
        done = subprocess.run([tool, "-c", "-g", str(cubin)], capture_output=True, timeout=LIMIT_S, check=True)
    except subprocess.SubprocessError as e:
        said = (getattr(e, "stderr", None) or b"").decode(errors="replace").strip().splitlines()
        raise OSError(f"nvdisasm failed: {said[-1] if said else e}") from None
    if len(done.stdout) > MOST_BYTES:
        raise OSError(f"nvdisasm wrote {len(done.stdout):,} bytes; at most {MOST_BYTES:,} are read")
    return done.stdout.decode(errors="replace")
