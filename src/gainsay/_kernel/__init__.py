"""The compiled core: it ranks and scores as the rooms above do in NumPy, which stay the specification."""
