"""Declared kernels and their cases: YAML and parameters in, inputs, expected outputs and the check's result out.

What may not cross the door: an open device, Hydra's objects, a run folder. `runner.bounds` has the rounding errors.

    YAML ──from_yaml──▶ Kernel ──resolve──▶ Case ──inputs──▶ arrays ──reference──▶ Expected ──check──▶ CheckResult
"""
