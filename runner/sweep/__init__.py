"""Run a list of cases: plan, compile everything, measure in rounds in a worker process, write each row at once.

`engine.run` is the door: jobs go in, and results leave through the run folder only. Stages implement `stage.Stage`.

plan ──compile──▶ binaries ──engine──▶ worker: run_case, measure ──▶ Outcome ──ledger──▶ rows, samples
"""
