"""The compiled core, which ranks and scores with the same results as the NumPy code."""
