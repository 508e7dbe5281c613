"""Make the links of README.md absolute, for the pages of package indexes, which hold no other file of the project.

    python tools/readme_for_index.py v0.1.0

rewrites README.md in place: links to the page of the file at that tag, pictures to the file itself. The release runs it
in its own checkout before it builds, so that any build backend packs the text it finds; the README of the repository
keeps its relative links, which work there for every branch and offline.
"""

from __future__ import annotations

import argparse
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PIECE = re.compile(
    r"(?P<ticks>`+).*?(?<!`)(?P=ticks)(?!`)"  # code, in which nothing is a link
    r'|(?P<lead>!\[[^\]]*\]\(|\]\(|\b(?:src|srcset|href)=")(?P<target>[^)"\s]+)',
    flags=re.DOTALL,
)
ABSOLUTE = re.compile(r"[a-z][a-z0-9+.-]*:|//|#", flags=re.IGNORECASE)


def with_absolute_links(text: str, source: str, ref: str) -> str:
    """Return a Markdown text whose relative links lead to the files of a repository at a tag, branch or commit."""

    def absolute(found: re.Match[str]) -> str:
        lead, target = found["lead"], found["target"]
        if lead is None or ABSOLUTE.match(target):
            return found[0]
        kind = "raw" if lead.startswith(("!", "src")) else "blob"
        return f"{lead}{source}/{kind}/{ref}/{target.removeprefix('./')}"

    return PIECE.sub(absolute, text)


def main() -> None:
    """Read the command line, and rewrite README.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ref", help="the tag, branch or commit that links shall lead to")
    parser.add_argument("--readme", type=Path, default=ROOT / "README.md")
    options = parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = options.readme.read_text(encoding="utf-8")
    options.readme.write_text(with_absolute_links(text, project["urls"]["Source"], options.ref), encoding="utf-8")


if __name__ == "__main__":
    main()
