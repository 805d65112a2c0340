"""The checked CPU device: the CPU device with every memory access instrumented. The door is `backend`."""
