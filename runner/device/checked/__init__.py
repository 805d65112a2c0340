"""The checked CPU device: the CPU device, told of each access to memory. The door is `backend`."""
