"""Graphs: work that is recorded once and queued again and again."""

from __future__ import annotations

import os
import warnings
from os import PathLike
from typing import TYPE_CHECKING, Self

from interlock._core.accelerator import Graph as _Graph, synchronize

if TYPE_CHECKING:
    from interlock._core.accelerator import _CaptureErrorMode

__all__ = ["Graph"]


class Graph(_Graph):
    """Work that is recorded once and queued again and again.

    `with stream, graph:` records what the block queues on the stream instead of running it, and on other
    streams from where they wait for an event recorded there, as long as that comes back to the stream.
    `replay` queues all of it on the current stream; it reads memory as it is then.

    With `keep_graph` what was recorded stays for `instantiate` and `debug_dump` after it was made ready, and
    is made ready only when it is first needed. `pool` names the memory that the graph allocates from: what
    `pool()` of another graph returned, to share it. `capture_error_mode` says where waiting for a device is
    refused while it records, as a replay can't repeat that: on every thread ("global", which is "default"),
    on the recording thread ("thread_local") or nowhere ("relaxed"). `graph_pool` and `capture_error_mode` may
    be assigned, for the next capture.

    Raises `NoAcceleratorError` without an accelerator, `ArgumentError` for an unknown mode. Methods raise
    `GraphError` where the order is wrong or something can't be repeated; then nothing stays recorded.

    >>> import interlock
    >>> from interlock import accelerator
    >>> accelerator.use("host")
    >>> source, destination = accelerator.memory.Buffer(4), bytearray(4)
    >>> stream, graph = interlock.Stream(), accelerator.Graph()
    >>> with stream, graph:
    ...     accelerator.memory.copy_(destination, source, non_blocking=True)
    >>> accelerator.memory.copy_(source, b"once")
    >>> with stream:
    ...     graph.replay()
    >>> stream.synchronize()
    >>> destination
    bytearray(b'once')
    """

    graph_pool: tuple[int, int] | None
    capture_error_mode: _CaptureErrorMode

    def __new__(
        cls,
        keep_graph: bool = False,
        *,
        pool: tuple[int, int] | None = None,
        capture_error_mode: _CaptureErrorMode = "default",
    ) -> Self:
        """Record nothing yet."""
        return super().__new__(cls, keep_graph, pool, capture_error_mode)

    def __init__(
        self,
        keep_graph: bool = False,
        *,
        pool: tuple[int, int] | None = None,
        capture_error_mode: _CaptureErrorMode = "default",
    ) -> None:
        self.graph_pool = pool
        self.capture_error_mode = capture_error_mode

    def capture_begin(self) -> None:
        """Start to record what the current stream queues, which must not be a default stream."""
        super()._capture_begin(self.graph_pool, self.capture_error_mode)

    def capture_end(self) -> None:
        """Stop recording, and make what was recorded ready unless the graph was made with `keep_graph`.

        Warns (UserWarning) if nothing was recorded: the work was probably queued on another device or stream.
        """
        self._end(stacklevel=3)

    def _end(self, stacklevel: int) -> None:
        if super()._capture_end():
            message = (
                "Graph.capture_end: the graph is empty; queue the work on the stream that captures, or on "
                "streams that wait for it"
            )
            warnings.warn(message, UserWarning, stacklevel=stacklevel)

    def instantiate(self) -> None:
        """Make what was recorded ready for replays; only for a graph made with `keep_graph`."""
        super().instantiate()

    def replay(self) -> None:
        """Queue what was recorded on the current stream, made ready first where it is not."""
        super().replay()

    def reset(self) -> None:
        """Let go what was recorded, so that the graph can record again."""
        super().reset()

    def pool(self) -> tuple[int, int]:
        """Return what names the memory that the graph allocates from, for other graphs to share it."""
        return super()._pool(self.graph_pool)

    def enable_debug_mode(self) -> None:
        """Keep what `debug_dump` needs of what is recorded from now on."""
        super().enable_debug_mode()

    def debug_dump(self, path: str | PathLike[str]) -> None:
        """Write what was recorded to a file, in the DOT language of Graphviz: `dot -Tsvg path`.

        Raises `GraphError` where it was let go: `enable_debug_mode` must be called before the capture, or the
        graph be made with `keep_graph`. Raises OSError where the file can't be written.
        """
        text = super()._dot()
        # A number would name a file that somebody else has open, and close it.
        with open(os.fspath(path), "w", encoding="utf-8") as file:
            file.write(text)

    def __enter__(self) -> Self:
        """Wait for the device, then start to record."""
        synchronize()
        self.capture_begin()
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Stop recording; after an exception nothing stays recorded."""
        if exc_info and exc_info[0] is not None:
            self._discard()
        elif type(self).capture_end is Graph.capture_end:
            self._end(stacklevel=3)
        else:
            self.capture_end()
