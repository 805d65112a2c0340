"""The importer: a kernel's YAML from existing code, and a run folder from another tuner's results.

Door: `__main__.main` for the command, and `t4_format` to read and write T4 files.
Takes: a `.cu`, a script for Kernel Tuner, a T1 file, or a T4 file.
Gives: `kernel/NAME.yaml` with `???` for what only the author knows; a run folder for T4.
How a `.cu` becomes a YAML: `facts` reads the kernel. `program` indexes the files, `resolve` follows names and calls
back to `main`, `memory` and `fills` find what `launch` passes, and `launched` says it with the YAML's parameters.
`follow` finds what a function stores, with `values` and `symbols`; `store_text` writes it as an expression, with `axes`
and `array_text`; `reference` chooses the function. `description` has all that, and `kernel_yaml` writes it, with
`launch_lines`, `lengths` and `naming`. All share the expressions of `terms`.
What may not cross: the importer parses code and never compiles or runs it. It overwrites no file.
"""
