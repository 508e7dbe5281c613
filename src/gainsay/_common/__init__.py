"""The version, and helpers that do not depend on ranking: arrays, arguments and text."""

__version__ = "0.1.0"
