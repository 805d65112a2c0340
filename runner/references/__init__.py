"""References of the kernels that come with the project, one module a family; a YAML names them by their dotted path."""
