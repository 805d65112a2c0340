"""A declarative experiment runner for CUDA kernels."""

__version__ = "0.1.0"
