"""Helpers that do not depend on ranking: arrays, names, checks, text and the version."""
