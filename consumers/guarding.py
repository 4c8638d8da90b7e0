"""What uvicorn leaves unbounded of a connection: how long a request's head may take, how large it may be, and how long
an answer waits for somebody who does not read it."""

from __future__ import annotations

import asyncio
from typing import cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class GuardedProtocol(HttpToolsProtocol):
    """Ends connections that would be held open by doing next to nothing.

    Attributes:
        head_s: seconds from the connection, or from the first byte after an answer, until a request's head is whole.
        head_bytes: how large it may be.
        unread_s: an answer that nobody goes on reading for so many seconds ends with its connection.
    """

    head_s = 30.0
    head_bytes = 65_536
    unread_s = 60.0
    _heading: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None
    _in_head = True
    _unanswered = 0
    _size = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for a request, but not for ever."""
        super().connection_made(cast("asyncio.Transport", transport))
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self._cancel()
        if self._unread is not None:
            self._unread.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what comes; of a head only so much. What comes after an answer is its request's rest, or a head."""
        self._size += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if not self._unanswered:
            self._await_head()
        if self._in_head and self._size > self.head_bytes:
            self.send_400_response("The head of this request is too large.")

    def on_headers_complete(self) -> None:
        """A head is whole."""
        self._cancel()
        self._in_head = False
        self._unanswered += 1
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """What comes next is another head."""
        self._in_head, self._size = True, 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """An answer was sent whole."""
        self._unanswered -= 1
        super().on_response_complete()

    def pause_writing(self) -> None:
        """What was sent is not read."""
        super().pause_writing()
        self._unread = self.loop.call_later(self.unread_s, self.transport.abort)

    def resume_writing(self) -> None:
        """It is read again."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()

    def _await_head(self) -> None:
        if self._heading is None:
            self._heading = self.loop.call_later(self.head_s, self.transport.close)

    def _cancel(self) -> None:
        if self._heading is not None:
            self._heading.cancel()
            self._heading = None
