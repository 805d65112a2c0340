"""What is measured beside the times: counters, ceilings, compute-sanitizer, energy; all after the timed rounds."""
