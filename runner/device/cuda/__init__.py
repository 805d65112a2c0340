"""NVIDIA GPUs, through PyCUDA, which no other package imports. The door is `backend`."""
