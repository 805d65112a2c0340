"""NVIDIA GPUs, through PyCUDA. PyCUDA stops at this package.

A module is made by SourceModule's two halves: `pycuda.compiler.compile`, ahead of time and on several threads of the
parent (`compiler`, `nvcc`; or NVRTC in its place, `nvrtc`), and `module_from_buffer`, in the worker that owns the
context (`device`).
"""
