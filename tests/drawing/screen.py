"""A small terminal: what a person would see after what was written to it. Written against ECMA-48, not against us."""

from __future__ import annotations

import re


class Screen:
    """Knows the few controls that may occur, refuses all others, and wraps as terminals do."""

    def __init__(self, columns=80):
        self.columns = columns
        self.lines = [""]
        self.row = self.column = 0

    def feed(self, text):
        for control, parameter, final, character in re.findall(r"(\x1b\[([0-9;]*)([A-Za-z]))|([\s\S])", text):
            if control:
                self._control(parameter, final)
            elif character == "\n":
                self.row, self.column = self.row + 1, 0  # as with ONLCR, which terminals have
                self.lines += [""] * (self.row + 1 - len(self.lines))
            elif character == "\r":
                self.column = 0
            else:
                self._put(character)
        return self

    def _control(self, parameter, final):
        if final == "A":
            self.row = max(self.row - int(parameter or 1), 0)
        elif final == "J" and parameter in ("", "0"):
            self.lines = [*self.lines[: self.row], self.lines[self.row][: self.column]]
        elif final != "m":
            raise AssertionError(f"an unknown control: {parameter}{final}")

    def _put(self, character):
        if self.column == self.columns:
            self.row, self.column = self.row + 1, 0
            self.lines += [""] * (self.row + 1 - len(self.lines))
        line = self.lines[self.row].ljust(self.column)
        self.lines[self.row] = line[: self.column] + character + line[self.column + 1 :]
        self.column += 1

    @property
    def text(self):
        return "\n".join(line.rstrip() for line in self.lines).rstrip("\n")
