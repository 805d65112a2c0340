"""Bounds of rounding errors: interval arithmetic over arrays, in which each value has a lowest and a highest one.

In: the text of an expression, NumPy arrays and numbers by name, and the kernel's arithmetic (`rounding.Arithmetic`: its
type, `-use_fast_math`, the accumulator). Out: `evaluation.evaluate` gives an `ExpectedArray`, the values and the lowest
and highest ones that a correct kernel may have; `acceptance.interval` the interval in which each element passes;
`power.power_of` the wrong results that would pass, too.

What may not cross the door: a case, a kernel or any other declaration, a device, a file. `runner.kernel` is above it.

    text ──formula──▶ tree ──array_expression──▶ Bounded ──evaluation──▶ ExpectedArray ──acceptance──▶ interval
                             operators: intervals    functions: functions    errors of a GPU's operations: rounding
"""
