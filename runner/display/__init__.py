"""How results are shown, whatever shows them: numbers and names as text, tables, and the terminal's progress.

Takes plain values and gives text. It knows no run, no file and no device.
"""
