"""Formatting shared by page, figures and terminal: numbers and names as text, tables, and the progress of a sweep.

Plain values go in and text comes out. Runs, files and devices do not cross this door.
"""
