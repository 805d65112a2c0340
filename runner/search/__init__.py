"""Search: find the fastest combinations of a kernel's parameters without measuring all of them.

A sampler (`guided`, `samplers`) proposes points of a space (`space`). `loop.Search` has them measured until the budget
is spent, `batches` measures them with the engine, `summary` describes the result.

Door: `space.kernel_space`, `samplers.make_sampler`, `loop.Search`, `batches.Batches`, `summary.summary`.
Takes: a kernel, the values of its parameters, the objectives (metrics), a function that makes the job of a point.
Gives: trials (values by point, lower is better) and the content of search.json.
What may not cross: `loop` and the samplers see points and values only, no jobs, rows or devices.
"""
