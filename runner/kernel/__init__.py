"""A kernel as it is declared, and one case of it: no device, no Hydra, no file of a sweep.

Its stations, in the order of the data:

    YAML ──from_yaml──▶ Kernel ──resolve──▶ Case ──fill──▶ inputs ──reference──▶ Expected ──check──▶ Verdict
"""
