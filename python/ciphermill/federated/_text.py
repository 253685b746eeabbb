"""Texts of messages: values of files and of peers, safe to print."""

from __future__ import annotations

#: The most characters of a value in a message.
LENGTH = 80


def printable(text: str) -> str:
    """The text with question marks in place of the characters that cannot be printed."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def shortened(text: str) -> str:
    """The text, cut to 80 characters."""
    return text if len(text) <= LENGTH else text[: LENGTH - 3] + "..."


def in_message(text: str) -> str:
    """The text in a message: printable, and cut."""
    return shortened(printable(text))
