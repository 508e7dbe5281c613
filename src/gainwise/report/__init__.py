"""Comparisons as people read them. Nothing here computes what `gainwise.comparison` could."""
