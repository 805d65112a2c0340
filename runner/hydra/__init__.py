"""All that knows Hydra: from a command line and YAML files to jobs, and Hydra's errors in one sentence."""
