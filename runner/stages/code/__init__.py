"""The machine code of a sweep's binaries: `stage` keeps it in the folder, `machine_code` reads and compares it."""
