"""Graphs: device work that is captured once and replayed any number of times."""

from __future__ import annotations

import warnings
from os import PathLike
from typing import Literal, Self, TypeAlias

from interlock._core.accelerator import Graph as _Graph, MemPool, current_stream, empty_cache, synchronize
from interlock._quote import open_file

__all__ = ["Graph"]

_CaptureErrorMode: TypeAlias = Literal["default", "global", "thread_local", "relaxed"]


class Graph(_Graph):
    """Device work that is captured once and replayed any number of times, like a `torch.cuda.CUDAGraph`.

    `with stream, graph:` captures the work that the block queues on the stream, instead of running it. Work
    on other streams is captured too if they wait for an event of the capturing stream and the stream waits
    for them before the capture ends. `replay` queues the captured work on the current stream. Methods raise
    `GraphError` if they are called in the wrong state or the work cannot be replayed; a capture that fails is
    discarded.

    Args:
        keep_graph: Whether to keep the captured graph after it was instantiated, for `instantiate` and
            `debug_dump`. The graph is then instantiated on first use, not at the end of the capture.
        pool: The memory pool that the graph allocates from: a `MemPool`, its id, or the id that `pool()` of
            another graph returns, to share that pool; None creates a pool. The attribute `graph_pool` sets it
            for the next capture.
        capture_error_mode: Where waiting for a device raises during the capture, because a replay cannot
            repeat it: on all threads ("global" or "default"), on the capturing thread ("thread_local") or
            nowhere ("relaxed"). The attribute of the same name sets it for the next capture.

    Raises:
        NoAcceleratorError: No accelerator is available.
        ArgumentError: `capture_error_mode` is not a known mode.
        TypeError: An argument has the wrong type.

    Example:
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

    graph_pool: MemPool | tuple[int, int] | None
    capture_error_mode: _CaptureErrorMode

    def __new__(
        cls,
        keep_graph: bool = False,
        *,
        pool: MemPool | tuple[int, int] | None = None,
        capture_error_mode: _CaptureErrorMode = "default",
    ) -> Self:
        """Create an empty graph."""
        return super().__new__(cls, keep_graph, pool, capture_error_mode)

    def __init__(
        self,
        keep_graph: bool = False,
        *,
        pool: MemPool | tuple[int, int] | None = None,
        capture_error_mode: _CaptureErrorMode = "default",
    ) -> None:
        self.graph_pool = pool
        self.capture_error_mode = capture_error_mode

    def capture_begin(self) -> None:
        """Start to capture the work of the current stream.

        Raises:
            GraphError: The graph is not empty, or the stream is a default stream or is capturing already.

        """
        super()._capture_begin(self.graph_pool, self.capture_error_mode)

    def capture_end(self) -> None:
        """End the capture and, unless `keep_graph` was set, instantiate the graph.

        Issues a UserWarning if the graph is empty, which usually means that the work was queued on another
        device or stream.
        """
        self._end(stacklevel=3)

    def _end(self, stacklevel: int) -> None:
        if super()._capture_end():
            message = (
                "Graph.capture_end: the graph is empty; queue the work on the capturing stream, or on "
                "streams that wait for it"
            )
            warnings.warn(message, UserWarning, stacklevel=stacklevel)

    def instantiate(self) -> None:
        """Instantiate the captured graph for replays. Requires `keep_graph`."""
        super().instantiate()

    def replay(self) -> None:
        """Queue the captured work on the current stream of the device on which it was captured.

        Instantiates the graph first if necessary.
        """
        super().replay()

    def reset(self) -> None:
        """Release the captured work, so that the graph can capture again."""
        super().reset()

    def pool(self) -> tuple[int, int]:
        """Return the id of the memory pool that the graph allocates from, to share it with other graphs."""
        return super()._pool(self.graph_pool)

    def enable_debug_mode(self) -> None:
        """Keep the information that `debug_dump` needs from now on."""
        super().enable_debug_mode()

    def debug_dump(self, path: str | PathLike[str]) -> None:
        """Write the captured graph to a file in the DOT language of Graphviz, for `dot -Tsvg path`.

        Args:
            path: The file.

        Raises:
            GraphError: The captured graph was not kept. Call `enable_debug_mode` before the capture, or
                create the graph with `keep_graph`.
            OSError: The file cannot be written.
            TypeError: `path` is neither a str nor a path.

        """
        text = super()._dot()
        with open_file("Graph.debug_dump", path, "w", encoding="utf-8") as file:
            file.write(text)

    def __enter__(self) -> Self:
        """Wait for the device, release the cached memory, then start the capture."""
        # A wait that a capture refuses would be reported instead of the second capture.
        if not current_stream().is_capturing():
            synchronize()
            # The memory of destroyed graphs remains cached in their pools, which this capture does not use.
            empty_cache()
        is_capturing = super()._is_capturing()
        try:
            self.capture_begin()
            return self
        except BaseException:
            # An interrupt may come after the begin.
            if not is_capturing and super()._is_capturing():
                super()._abort_capture()
            raise

    def _leave(self) -> None:
        """End the capture at the end of a block."""
        if type(self).capture_end is Graph.capture_end:
            self._end(stacklevel=3)
        else:
            self.capture_end()
