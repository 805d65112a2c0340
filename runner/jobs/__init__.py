"""A job: one case, the device that is asked for, and how it is measured. Composing makes jobs, all below runs them."""
