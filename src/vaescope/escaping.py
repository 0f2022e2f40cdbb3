"""Text of others made safe to show: names in data files may hold escape codes or HTML."""

import unicodedata

__all__ = ["markdown", "printable"]


def printable(text: str) -> str:
    """Without characters that a terminal obeys, or that no file can hold; these stand as escapes.

    >>> printable("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    if text.isprintable():
        return text
    return "".join(char if char in "\n\t" or _shows(char) else repr(char)[1:-1] for char in text)


def _shows(char: str) -> bool:
    return char.isprintable() or unicodedata.category(char) == "Zs"  # spaces of all widths


def markdown(text: str) -> str:
    """One line of Markdown in which HTML is text.

    >>> markdown("a <b>\\nc")
    'a &lt;b> c'
    """
    return printable(" ".join(text.split())).replace("<", "&lt;")
