"""The CPU device: unmodified `.cu` kernels with CUDA's exact thread model, on the host. The door is `backend`."""
