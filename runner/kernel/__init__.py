"""A kernel as declared, and one case of it. Nothing here knows of devices, Hydra or run folders. How the data flows.

YAML ──from_yaml──▶ Kernel ──resolve──▶ Case ──fill──▶ inputs ──reference──▶ Expected ──check──▶ CheckResult
"""
