"""What is measured beside the times: counters, ceilings, compute-sanitizer, energy. All of it after the timed rounds."""
