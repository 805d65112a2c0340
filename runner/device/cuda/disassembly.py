"""nvdisasm, NVIDIA's disassembler: from the PATH, from a toolkit, or from the package `nvidia-cuda-nvdisasm`."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from runner.device.cuda.nvrtc import packages, toolkits

MAX_BYTES = 64 << 20  # of nvdisasm's output
LIMIT_S = 60.0


def find_nvdisasm() -> str | None:
    """Find nvdisasm; `None` if it is not installed."""
    folders = (f"{folder}/bin" for folder in (*toolkits(), *packages("cu13", "cuda_nvdisasm")))
    return shutil.which("nvdisasm") or shutil.which("nvdisasm", path=os.pathsep.join(folders))


def disassemble(cubin: bytes) -> str:
    """The disassembly of a cubin, with source lines if it has line information.

    Raises:
        OSError: nvdisasm is not installed, fails, or writes too much.
    """
    if (tool := find_nvdisasm()) is None:
        raise OSError(
            "nvdisasm is not on the PATH; it comes with the CUDA toolkit and the package nvidia-cuda-nvdisasm"
        )
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        Path(file.name).write_bytes(cubin)
        try:
            done = subprocess.run([tool, "-c", "-g", file.name], capture_output=True, timeout=LIMIT_S, check=True)
        except subprocess.SubprocessError as e:
            messages = (getattr(e, "stderr", None) or b"").decode(errors="replace").strip().splitlines()
            raise OSError(f"nvdisasm failed: {messages[-1] if messages else e}") from None
    if len(done.stdout) > MAX_BYTES:
        raise OSError(f"nvdisasm wrote {len(done.stdout):,} bytes; at most {MAX_BYTES:,} are read")
    return done.stdout.decode(errors="replace")
