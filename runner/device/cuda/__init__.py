"""NVIDIA GPUs, through PyCUDA. PyCUDA stops at this package.

A module is made by SourceModule's two halves: `pycuda.compiler.compile`, ahead of time and on several threads of the
parent (`compiler`), and `module_from_buffer`, in the worker that owns the context (`device`).
"""

from runner.device.cuda.compiler import CudaCompiler
from runner.device.cuda.device import CudaDevice, present

__all__ = ["CudaCompiler", "CudaDevice", "present"]
