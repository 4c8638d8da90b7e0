"""The one error of the embedded store: a call refused with a status code and a text."""

from __future__ import annotations


class Refused(Exception):  # noqa: N818  # a refusal is an answer, not a fault
    """A call that is answered with an error.

    Attributes:
        status: the HTTP status code.
        text: what was wrong and what to do, in the server's words where it has them. Never a payload's content.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text}")
        self.status = status
        self.text = text


class FolderTaken(Exception):  # noqa: N818
    """Another process holds the data folder."""

    def __init__(self, folder: str) -> None:
        super().__init__(
            f"the data folder {folder} is in use by another store process: stop that one, or choose another --data-dir"
        )
        self.folder = folder


def malformed(what: str) -> Refused:
    """400: the JSON body does not have the shape of this call."""
    return Refused(400, f"Format error in JSON body: {what}")


def wrong_input(what: str) -> Refused:
    """400: well-formed, but not for this collection."""
    return Refused(400, f"Wrong input: {what}")


def bad_request(what: str) -> Refused:
    """400: refused by strict mode or for lack of an index."""
    return Refused(400, f"Bad request: {what}")


def invalid(field: str, what: str) -> Refused:
    """422: a value outside what its field takes."""
    return Refused(422, f"Validation error in JSON body: [{field}: {what}]")


def no_collection(name: str) -> Refused:
    """404: neither a collection nor an alias."""
    return Refused(404, f"Not found: Collection `{name}` doesn't exist!")


def unsupported(what: str) -> Refused:
    """501: a real server may know it, the embedded store does not."""
    return Refused(501, f"Not implemented by the embedded store: {what}. Use a Qdrant server (QDRANT_URL) for it.")
