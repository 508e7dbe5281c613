"""Comparisons as people read them. Nothing here computes what `gainsay.comparison` could."""
