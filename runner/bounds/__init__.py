"""Bounds of rounding errors: interval arithmetic over arrays, in which each value has a lowest and a highest one.

It takes the text of an expression, NumPy arrays and numbers by name, and the arithmetic of the kernel (`Arithmetic`:
its type, `-use_fast_math`, the accumulator). `ArrayExpression(text, where)(names, arithmetic)` gives a `Bounded`: the
value, and the lowest and the highest one that a correct kernel may have. From these or a tolerance, `acceptance` gives
the interval in which each element passes, and `power` the wrong results that would pass, too.

What may not cross the door: a case, a kernel or another declaration, a device, a file. `runner.kernel` is above it.

    text ──formula──▶ tree ──array_expression──▶ Bounded ──▶ ExpectedArray ──acceptance──▶ intervals ──power──▶ Power
                             tables: intervals, functions; errors of the GPU's operations: rounding
"""
