"""The command line's side, and Hydra's: from what a user wrote to planned cases, and errors in our words."""
