"""The stages that the group `profile` asks for: counters, ceilings, energy, compute-sanitizer.

Takes cases that a GPU has timed. Gives each job's profile.json, with a record by the stage's name, and columns of rows;
the sanitizer may find a hazard. Everything is launched in processes of its own, so nothing that a profiler does reaches
the times. What these stages find is read by reports, which know no tool.
"""
