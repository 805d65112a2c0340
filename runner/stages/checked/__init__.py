"""A pool of checked CPU devices, shared by the stages that launch cases on the host.

Door: `pool.Pool` and the cache of builds and results in `builds`.
Takes: a case, and a function to call with the device in a worker process.
Gives: the function's return value, which must be plain data. Cached builds and results start no compiler or process.
What may not cross: device handles and arrays stay in the worker. Verdicts are made by the stages.
"""
