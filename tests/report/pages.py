"""A strict reader of HTML."""

from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "source", "input", "hr"}


class Page(HTMLParser):
    """Collects all elements with their attributes, text and ancestors. Elements must be closed in order."""

    def __init__(self, markup):
        super().__init__()
        self.elements, self._open = [], []
        self.feed(markup)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs):
        element = {"tag": tag, **dict(attrs), "text": "", "within": [parent["tag"] for parent in self._open]}
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self._open.pop()["tag"] == tag

    def handle_data(self, data):
        for element in self._open:
            element["text"] += data

    def all(self, tag, **attributes):
        return [
            element
            for element in self.elements
            if element["tag"] == tag and all(element.get(name) == value for name, value in attributes.items())
        ]

    def texts(self, tag, **attributes):
        return [" ".join(element["text"].split()) for element in self.all(tag, **attributes)]

    @property
    def rows(self):
        """Return the texts of all cells by row."""
        found = []
        for element in self.elements:
            if element["tag"] == "tr":
                found.append([])
            elif element["tag"] in ("td", "th"):
                found[-1].append(element["text"])
        return found


def read(path):
    return Page(path.read_text("utf-8"))
