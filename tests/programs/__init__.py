"""Whole NumPy programs as people write them, one file for each family; `_program.programs()` lists them all."""
