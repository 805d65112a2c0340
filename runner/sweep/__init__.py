"""Run a list of cases: plan, compile everything, measure in rounds in a worker process, write each row at once.

plan ──compile──▶ binaries ──engine──▶ worker: run_case, measure ──▶ Outcome ──ledger──▶ rows, samples
"""
