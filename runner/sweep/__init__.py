"""A list of cases, run: plan, compile all, measure in rounds in a worker process, and each row on disk at once.

Its stations, in the order of the data:

    plan ──compilation──▶ binaries ──rounds──▶ worker: attempt, measure ──▶ Outcome ──ledger──▶ rows, samples
"""
