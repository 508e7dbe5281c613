"""Text and digests that are the same for equal things."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from typing import Any


def sha256(content: bytes) -> str:
    """Return the digest of some bytes."""
    return hashlib.sha256(content).hexdigest()


def canonical_json(document: Any) -> bytes:
    """Return JSON text that is the same for equal documents."""
    return json.dumps(document, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False).encode()


def slug(name: str) -> str:
    """Return a folder name for any text: readable, of few characters, and different for different texts.

    Examples
    --------
    >>> slug("../LightGBM: 31 leaves")
    'lightgbm-31-leaves-1d3192426c4c'
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    readable = re.sub(r"[^a-z0-9]+", "-", plain)[:60].strip("-")
    return f"{readable or 'candidate'}-{sha256(name.encode())[:12]}"
