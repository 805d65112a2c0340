"""Search: find the fastest combinations of a kernel's parameters without measuring all of them.

A sampler (`guided`, `samplers`) proposes points of a space (`space`); `loop` has them measured and stops in time.
"""
