"""Make the links of README.md absolute, because the pages of package indexes contain no other files of the project.

    python tools/readme_for_index.py https://example.org/owner/gainwise v0.1.0

The script rewrites README.md in place. Links lead to the page of a file at this tag, and pictures to the file itself.
The release runs the script in a separate checkout before it builds the package. The README of the repository has
relative links, which work for every branch and offline.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PIECE = re.compile(
    r"(?P<ticks>`+).*?(?<!`)(?P=ticks)(?!`)"  # code, which contains no links
    r'|(?P<lead>!\[[^\]]*\]\(|\]\(|\b(?:src|srcset|href)=")(?P<target>[^)"\s]+)',
    flags=re.DOTALL,
)
ABSOLUTE = re.compile(r"[a-z][a-z0-9+.-]*:|//|#", flags=re.IGNORECASE)


def make_links_absolute(text: str, source: str, ref: str) -> str:
    """Replace the relative links of a Markdown text by links to a repository at a tag, branch or commit."""

    def replace(match: re.Match[str]) -> str:
        lead, target = match["lead"], match["target"]
        if lead is None or ABSOLUTE.match(target):
            return match[0]
        kind = "raw" if lead.startswith(("!", "src")) else "blob"
        return f"{lead}{source}/{kind}/{ref}/{target.removeprefix('./')}"

    return PIECE.sub(replace, text)


def main() -> None:
    """Rewrite README.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", help="address of the repository")
    parser.add_argument("ref", help="tag, branch or commit of the links")
    parser.add_argument("--readme", type=Path, default=ROOT / "README.md")
    options = parser.parse_args()
    text = options.readme.read_text(encoding="utf-8")
    options.readme.write_text(make_links_absolute(text, options.source, options.ref), encoding="utf-8")


if __name__ == "__main__":
    main()
