"""Which kernel serves an operation, and why: records of calls, and explanations without a call.

An operation has several kernels. Each declares the flags, the library and the properties of a call that it
requires, and the first kernel that accepts the call runs it. `INTERLOCK_DISPATCH=1` prints a line for each
call. A build without the tensor runtime lacks `explain`.
"""

from typing import TYPE_CHECKING

from interlock._core.dispatch import Call, Considered, Reason, Recording, record
from interlock._features import HAS_TENSORS, remove_missing

if TYPE_CHECKING or HAS_TENSORS:
    from interlock._core.dispatch import explain

__all__ = ["Call", "Considered", "Reason", "Recording", "explain", "record"]

remove_missing(globals())
