"""Which kernel serves an operation, and why: records of calls, and explanations without a call.

An operation has several kernels. Each declares the flags, the library and the properties of a call that it
requires, and the first kernel that accepts the call runs it. `INTERLOCK_DISPATCH=1` prints a line for each
call.
"""

from interlock._core.dispatch import Call, Considered, Reason, Recording, explain, record

__all__ = ["Call", "Considered", "Reason", "Recording", "explain", "record"]
