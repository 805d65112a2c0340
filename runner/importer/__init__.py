"""Writes a kernel's YAML from what others have: a `.cu`, a script for Kernel Tuner, or a T1 file."""
