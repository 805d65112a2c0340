"""The checked CPU device beside a sweep: what several stages launch on, in processes of their own.

Takes a case, and gives plain data that a function made of it on the device. What was compiled or found before needs
neither the compiler nor a process. No verdict is made here.
"""
