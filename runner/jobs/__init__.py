"""A job: one case, the requested device, and how to measure it. `compose` makes jobs; the packages below run them.

Jobs are plain values: they hold no open device, no file and nothing of Hydra's.
"""
