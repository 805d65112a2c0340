"""The winners of a run, for the programs that use its kernels: as a C header, JSON and CSV.

    Run ──winner──▶ Winners ──header──▶ C header
                        └────listing──▶ JSON, CSV

Door: `winner.winners`, and a function `text` of each format.
Takes: a run folder. Gives: text.
What may not cross: no code of the folder is run; its YAML is read, and only within the folder.
"""
