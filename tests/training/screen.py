"""A stream that is a terminal, and a small terminal that shows control sequences. It follows ECMA-48, not the code."""

import io
import re


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    encoding = "utf-8"

    def isatty(self):
        return True


class Screen:
    """Supports the permitted control sequences, rejects all others, and wraps long lines."""

    def __init__(self, columns=80):
        self.columns = columns
        self.lines = [""]
        self.row = self.column = 0

    def feed(self, text):
        for control, parameter, final, character in re.findall(r"(\x1b\[([0-9;?]*)([A-Za-z]))|([\s\S])", text):
            if control:
                self._control(parameter, final)
            elif character == "\n":
                self.row, self.column = self.row + 1, 0  # terminals add a carriage return (ONLCR)
                self.lines += [""] * (self.row + 1 - len(self.lines))
            elif character == "\r":
                self.column = 0
            else:
                self._put(character)
        return self

    def _control(self, parameter, final):
        if final == "A":
            self.row = max(self.row - int(parameter or 1), 0)
        elif final == "K" and parameter == "2":
            self.lines[self.row] = ""
        elif final != "m" and (parameter, final) not in (("?25", "l"), ("?25", "h")):
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
