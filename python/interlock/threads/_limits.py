"""Sets the sizes of thread pools, in a scope or until the next write."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from interlock._quote import shown
from interlock._suggest import closest_match
from interlock.errors import ArgumentError, SettingConflictError, SettingValueError, ThreadPoolWarning
from interlock.settings import _apply, _lookup, _registry, _scopes, override
from interlock.settings._environ import POOLS
from interlock.settings._locks import LONGEST_WAIT, busy, call_locked, locks_of, try_locked
from interlock.settings._origin import Origin, caller
from interlock.settings._scopes import Scope
from interlock.settings._setting import Unreadable, read, reason_of
from interlock.settings._writes import Write, report, same
from interlock.threads._budget import budget, check_workers
from interlock.threads._pools import Kind, kinds

if TYPE_CHECKING:
    from typing import Protocol

    # Any iterable of str but a single str.
    class _Container(Protocol):
        def __iter__(self) -> Iterator[str]: ...
        def __contains__(self, item: object, /) -> bool: ...

    _Names: TypeAlias = _Container | Iterator[str]
else:
    _Names = Iterable[str]

_Size: TypeAlias = int | Literal["budget"]
_OnConflict: TypeAlias = Literal["raise", "wait", "warn"]
_OnRefusal: TypeAlias = Literal["raise", "warn", "ignore"]

# The pools that need no threadpoolctl.
_OWN = ("numexpr", "interlock", "torch", "onnxruntime", "rayon")


class Refusal(NamedTuple):
    """A pool that did not accept a limit, and the sizes that its library allows."""

    pool: str
    """The name of the pool."""
    reason: str
    """The sizes that the library allows."""

    def __str__(self) -> str:
        return f"{self.pool}: {self.reason}"


class _Wanted(NamedTuple):
    """The pools that a limit applies to."""

    size: int
    kinds: tuple[Kind, ...]
    refused: tuple[Refusal, ...]
    """Pools whose size is fixed, and another one."""
    written_once: tuple[Kind, ...]
    """Pools that accept one write, which is to be tried."""

    def values(self) -> dict[str, int | str]:
        """Return the value of each setting."""
        return {
            kind.setting.name: str(self.size) if kind.is_fixed else self.size
            for kind in self.kinds
            if kind.known.convert is not None
        }

    def name_of(self, setting: str | None) -> str:
        """Return the pool of a setting."""
        return next((kind.name for kind in self.kinds if kind.setting.name == setting), str(setting))


def _checked(function: str, size: object, pools: object, on_refusal: object) -> tuple[str, ...] | None:
    """Check the arguments that `limits` and `set_limits` share, and return the names of the pools."""
    if size != "budget":
        message = f'{function}: size must be an int from 1 to 2**31 - 1 or "budget", got {shown(size)}'
        if not isinstance(size, int) or isinstance(size, bool):
            raise TypeError(message)
        if not 1 <= size < 2**31:
            raise ArgumentError(message)
    if on_refusal not in ("raise", "warn", "ignore"):
        raise ArgumentError(
            f'{function}: on_refusal must be "raise", "warn" or "ignore", got {shown(on_refusal)}'
        )
    if pools is None:
        return None
    if isinstance(pools, str) or not isinstance(pools, Iterable):
        raise TypeError(f"{function}: pools must be an iterable of str or None, got {shown(pools)}")
    names = tuple(pools)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{function}: pools must be an iterable of str or None, got {shown(name)} in it")
    return names


def _wanted(function: str, size: int, names: tuple[str, ...] | None, *, starting: bool) -> _Wanted:
    """Find the pools that exist now.

    Args:
        function: The function that needs them, for messages.
        size: The number of threads.
        names: The names of the pools; None for all.
        starting: Whether all include those whose size is fixed once they have started.

    """
    needs_native = names is None or any(name.partition(".")[0] not in _OWN for name in names)
    found = tuple(kinds(function, needs_native=needs_native))
    for name in names or ():
        # A library that is not loaded has no pool yet.
        if not any(_is_named(kind, name) for kind in found) and name not in (*POOLS, *_OWN):
            raise ArgumentError(_unknown(function, name, found))
    chosen = tuple(kind for kind in found if _is_chosen(kind, names, starting=starting))
    fixed = tuple(kind for kind in chosen if (kind.is_late or kind.is_read_only))
    settable = tuple(kind for kind in chosen if kind not in fixed)
    _registry.need(kind.setting for kind in settable)
    others = tuple(kind for kind in fixed if kind.size != size)
    once = tuple(kind for kind in others if starting and kind.write_once is not None)
    refused = tuple(Refusal(kind.name, kind.note) for kind in others if kind not in once)
    return _Wanted(size, settable, refused, once)


def _is_chosen(kind: Kind, names: tuple[str, ...] | None, *, starting: bool) -> bool:
    """Return whether a limit applies to a pool. A scope leaves one of a fixed size that is not named."""
    if not starting and (kind.is_fixed or kind.is_read_only):
        return names is not None and kind.name in names
    return names is None or any(_is_named(kind, name) for name in names)


def _is_named(kind: Kind, name: str) -> bool:
    return kind.name == name or kind.name.startswith(f"{name}.")


def _unknown(function: str, name: str, found: tuple[Kind, ...]) -> str:
    known = [kind.name for kind in found]
    similar = closest_match(name, dict.fromkeys((*known, *POOLS, *_OWN)))
    hint = f'; did you mean "{similar}"?' if similar else ""
    return f"{function}: pools must name thread pools ({', '.join(known)}), got {shown(name)}{hint}"


def _refuse_fixed(function: str, on_refusal: _OnRefusal, wanted: _Wanted) -> None:
    """Raise `SettingValueError` for a pool of a fixed size."""
    if on_refusal == "raise" and wanted.refused:
        raise SettingValueError(f"{function}: {wanted.refused[0]}")


def _report(function: str, on_refusal: _OnRefusal, refused: tuple[Refusal, ...], origin: Origin) -> None:
    """Warn of pools that did not accept a limit."""
    for each in refused if on_refusal == "warn" else ():
        warnings.warn_explicit(f"{function}: {each}", ThreadPoolWarning, origin.file, origin.line)


class limits(override):
    """Set the sizes of all thread pools in a scope: `with`, `async with`, or a decorator.

    The pools are those that `pools` lists when the scope is entered: BLAS libraries and OpenMP runtimes,
    PyTorch, numexpr and interlock. A pool of a thread is set for this thread. One of the process is held
    exclusively, like a setting by `settings.override`: scopes inside may set another size, other threads may
    hold it with an equal size, unless there are nested scopes of several sizes; else they raise, wait or
    warn. At its end the scope puts the sizes of before back. A size is set, not only reduced.

    The pools of ONNX Runtime and rayon have their size from their start on. A scope that names them in
    `pools` sets the environment variables that they read; a pool that starts inside keeps the size. PyTorch's
    threads between operations accept one write, which only `set_limits` makes.

    Args:
        size: The number of threads of each pool, or `"budget"` for that of `budget`, as it is now.
        pools: The names of the pools, or of libraries such as `"openblas"`. Those of a fixed size,
            `"onnxruntime"`, `"rayon"` and `"torch.interop"`, have to be named themselves.
        workers: The argument of `budget`.
        on_conflict: What happens if other code holds a pool with another size: `"raise"`, `"wait"` or
            `"warn"`.
        timeout: The seconds that `"wait"` waits at most; None for no limit.
        on_refusal: What happens if a pool does not accept the size: `"warn"`, `"raise"` or `"ignore"`. The
            others are set. `refused` has the reasons.

    Raises:
        TypeError: An argument has a wrong type.
        ArgumentError: `size` is out of range, or no pool has a name of `pools`.
        SettingConflictError: Other code holds a pool with another size, or another thread has been reading or
            writing one for 30 seconds.
        SettingValueError: A pool does not accept the size, with `on_refusal="raise"`; nothing is changed.
        UnsupportedError: threadpoolctl 3.8 or newer is missing, unless `pools` names only pools that need
            none.

    Example:
        >>> import interlock
        >>> from interlock import threads
        >>> with threads.limits(1):
        ...     interlock.get_num_threads()
        1

    """

    _kind = "limits"

    refused: tuple[Refusal, ...]
    """The pools that did not accept the size when the scope was last entered."""

    def __init__(
        self,
        size: _Size = "budget",
        *,
        pools: _Names | None = None,
        workers: int | None = None,
        on_conflict: _OnConflict = "raise",
        timeout: float | None = None,
        on_refusal: _OnRefusal = "warn",
    ) -> None:
        super().__init__({}, on_conflict=on_conflict, timeout=timeout)
        self._pools = _checked("limits", size, pools, on_refusal)
        self._size = _resolved("limits", size, workers)
        self._on_refusal: _OnRefusal = on_refusal
        self.refused = ()

    def __repr__(self) -> str:
        pools = "" if self._pools is None else f", pools={shown(list(self._pools))}"
        return f"limits({self._size}{pools})"

    def _scope(self) -> Scope:
        self._wanted = _wanted("limits", self._size, self._pools, starting=False)
        _refuse_fixed("limits", self._on_refusal, self._wanted)
        self.refused = self._wanted.refused
        self._origin = self._caller()
        return Scope("limits", self._wanted.values(), self._origin)

    def _try(self, scope: Scope, seconds: float) -> tuple[dict[str, list[Scope]], list[Write]] | None:
        while True:
            try:
                return super()._try(scope, seconds)
            except SettingValueError as error:
                if error.setting not in scope.values or self._on_refusal == "raise":
                    raise
                del scope.values[error.setting]
                reason = _reason(error.__cause__ or error)
                self.refused += (Refusal(self._wanted.name_of(error.setting), reason),)

    def _report(self, writes: Sequence[Write]) -> None:
        super()._report(writes)
        _report("limits", self._on_refusal, self.refused, self._origin)

    def _copy(self) -> limits:
        return type(self)(
            self._size,
            pools=self._pools,
            on_conflict=self._on_conflict,
            timeout=self._timeout,
            on_refusal=self._on_refusal,
        )


def _resolved(function: str, size: _Size, workers: int | None) -> int:
    if size == "budget":
        check_workers(function, workers)
        return int(budget(workers))
    if workers is not None:
        raise ArgumentError(f'{function}: workers must be None unless size is "budget", got {shown(workers)}')
    return int(size)


def _reason(error: BaseException) -> str:
    """Return the message of an error of a library; one of interlock in full, and without its class."""
    return str(error) if isinstance(error, SettingValueError) else reason_of(error)


def set_limits(
    size: _Size = "budget",
    *,
    pools: _Names | None = None,
    workers: int | None = None,
    on_refusal: _OnRefusal = "warn",
) -> tuple[Refusal, ...]:
    """Set the sizes of all thread pools until the next write, for example at the start of a worker process.

    A pool of a thread is set for this thread only: call it at the start of each. Libraries that are loaded
    later begin with their own default, except ONNX Runtime and rayon, whose environment variables are set.
    PyTorch's threads between operations accept one write, before they start.

    Args:
        size: The number of threads of each pool, or `"budget"` for that of `budget`.
        pools: The names of the pools, or of libraries such as `"openblas"`; None for all.
        workers: The argument of `budget`.
        on_refusal: What happens if a pool does not accept the size: `"warn"`, `"raise"` or `"ignore"`. The
            others are set.

    Returns:
        The pools that did not accept the size, with what their libraries allow.

    Raises:
        TypeError: An argument has a wrong type.
        ArgumentError: `size` is out of range, or no pool has a name of `pools`.
        SettingConflictError: A scope of other code holds a pool with another size, or another thread has been
            reading or writing one for 30 seconds; nothing is changed.
        SettingValueError: A pool does not accept the size, with `on_refusal="raise"`; the sizes of before
            are put back.
        UnsupportedError: threadpoolctl 3.8 or newer is missing, unless `pools` names only pools that need
            none.

    Example:
        >>> import interlock
        >>> from interlock import threads
        >>> refused = threads.set_limits(2, pools=["interlock"])
        >>> interlock.get_num_threads(), refused
        (2, ())

    """
    names = _checked("set_limits", size, pools, on_refusal)
    wanted = _wanted("set_limits", _resolved("set_limits", size, workers), names, starting=True)
    _refuse_fixed("set_limits", on_refusal, wanted)
    origin = caller()
    refused = list(wanted.refused)
    locks = locks_of([_lookup.get("set_limits", name) for name in wanted.values()])
    found = try_locked(locks, LONGEST_WAIT, _set, wanted, on_refusal, origin, refused)
    if found is NotImplemented:
        raise busy("set_limits", wanted.values())
    before, writes = found
    # Last, because nothing can put them back.
    for kind in wanted.written_once:
        assert kind.write_once is not None
        try:
            kind.write_once(wanted.size)
        except RuntimeError as error:
            refused.append(Refusal(kind.name, kind.note))
            if on_refusal == "raise":
                call_locked(locks, _put_back, before, origin)
                raise SettingValueError(f"set_limits: {refused[-1]}", setting=kind.setting.name) from error
    report(writes)
    _report("set_limits", on_refusal, tuple(refused), origin)
    return tuple(refused)


def _set(
    wanted: _Wanted, on_refusal: _OnRefusal, origin: Origin, refused: list[Refusal]
) -> tuple[dict[str, Any], list[Write]]:
    """Set the pools that can be put back with their locks held; return the sizes of before and the writes."""
    values = wanted.values()
    own = _scopes.chain()
    for name, value in values.items():
        for scope in _scopes.holders(name):
            if scope not in own and not same(scope.values[name], value):
                raise SettingConflictError(f"set_limits: {name} is {scope.describe(name)}")
    before: dict[str, Any] = {}
    writes: list[Write] = []
    for name, value in values.items():
        setting = _lookup.get("set_limits", name)
        found = read(setting)
        try:
            writes += _apply.apply(setting, value, origin)
            before[name] = found
        except Exception as error:
            refused.append(Refusal(wanted.name_of(name), _reason(error)))
            if on_refusal == "raise":
                _put_back(before, origin)
                raise SettingValueError(f"set_limits: {refused[-1]}", setting=name) from error
    return before, writes


def _put_back(before: dict[str, Any], origin: Origin) -> None:
    for name, value in reversed(before.items()):
        if not isinstance(value, Unreadable):
            _apply.apply(_lookup.get("set_limits", name), value, origin, back=True)
