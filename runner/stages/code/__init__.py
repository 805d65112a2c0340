"""Machine code of a sweep's binaries.

Door: `stage.MachineCode` writes it to the run folder; `machine_code` reads and compares it.
Takes: finished GPU cases and their compilers. Gives: machine/BINARY.txt and machine/BINARY.ptx.
What may not cross: readers get text and need neither nvdisasm nor a GPU.
"""
