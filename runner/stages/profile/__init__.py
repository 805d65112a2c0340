"""The stages of the config group `profile`: ncu counters, roofline ceilings, energy, compute-sanitizer.

Door: `stage.ProfileStage` and its four subclasses; `stage.records` reads what they recorded.
Takes: cases that a GPU has timed.
Gives: N/profile.json with a record per stage, and columns of results.csv. The sanitizer may turn a row into a `hazard`.
What may not cross: a profiler's effect on times. Every launch is in a process of its own, after the timed rounds.
"""
