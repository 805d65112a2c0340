"""NVIDIA GPUs, through PyCUDA, which only this package imports. The door is `backend`."""
