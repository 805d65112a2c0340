"""A run folder: where its files are, what they hold, and how a program that ends at any moment leaves them readable."""
