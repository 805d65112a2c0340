"""The importer: a kernel's YAML from existing code, and a run folder from another tuner's results.

Door: `__main__.main` for the command, and `t4_format` to read and write T4 files.
Takes: a `.cu`, a script for Kernel Tuner, a T1 file, or a T4 file.
Gives: `kernel/NAME.yaml` with `???` for what only the author knows; a run folder for T4.
How a `.cu` becomes a YAML: `facts` reads the kernel, `host` what leads to its launch, `launched` names the program's
constants as parameters, `forms` follows a plain function, `array_text` writes its stores as expressions, `reference`
chooses the function, and `kernel_yaml` writes the file. They share the expressions of `terms`.
What may not cross: the importer parses code and never compiles or runs it. It overwrites no file.
"""
