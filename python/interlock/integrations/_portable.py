"""The state of a process as a value, which carriers bring to worker processes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

import interlock
from interlock import backends
from interlock._homes import set_home
from interlock._quote import counted, printable, quoted, shown
from interlock.errors import ArgumentError, UnknownFlagError
from interlock.settings import _lookup, _registry, _scopes
from interlock.settings._environ import ENVIRON, THREAD_VARIABLES
from interlock.settings._import_hook import run_imported
from interlock.settings._origin import caller
from interlock.settings._setting import Extent, Setting, Unreadable, read

if TYPE_CHECKING:
    from interlock.integrations._verify import Verification
else:
    # That module imports this one.
    Verification = Any

_Threads: TypeAlias = int | Literal["budget"] | None

VARIABLE = "INTERLOCK_STATE"
"""The environment variable with a state, which the first `import interlock` of a process applies."""
VERSION = 1
"""The version of the JSON. A later version only adds parts; a part with another meaning has another name."""
# Linux accepts variables of 131,072 bytes with their name.
_LONGEST = 100_000
_ON_WRITE = ("raise", "warn", "ignore")


@final
class Portable:
    """The state that worker processes shall have: an immutable value, which `portable` returns.

    Its methods carry it to the workers of an engine. In a worker, variables of the worker's own environment
    take precedence, and `verify` reports that. A value or a part that the worker does not know, for example
    because its interlock has another version, issues a `PortableStateWarning` and is passed on unchanged.

    Args:
        parts: What the JSON is read as, see `to_json`.

    Raises:
        TypeError: `parts` is not a mapping.
        ArgumentError: A part has an invalid value.

    Example:
        >>> from interlock.integrations import Portable
        >>> state = Portable({"version": 1, "flags": {"cudnn.deterministic": True}})
        >>> state.flags
        {'cudnn.deterministic': True}

    """

    __slots__ = ("_parts", "_text")

    def __init__(self, parts: Mapping[str, Any]) -> None:
        if not isinstance(parts, Mapping):
            raise TypeError(f"Portable: parts must be a mapping, got {type(parts).__name__}")
        _check("Portable: parts", parts)
        try:
            self._text = json.dumps(dict(parts), separators=(",", ":"), sort_keys=True)
        except (TypeError, ValueError, RecursionError) as error:
            raise ArgumentError(f"Portable: parts must be values of JSON: {shown(str(error))}") from None
        self._parts: dict[str, Any] = json.loads(self._text)

    def _part(self, name: str) -> dict[str, Any]:
        return dict(self._parts.get(name, {}))

    @property
    def flags(self) -> dict[str, Any]:
        """The assigned flags of interlock, and of libraries that register flags, by name."""
        return self._part("flags")

    @property
    def settings(self) -> dict[str, Any]:
        """The values of settings of other libraries, by name."""
        return self._part("settings")

    @property
    def pinned(self) -> dict[str, str]:
        """The settings among `settings` that workers pin, with what happens on a write by other code."""
        return self._part("pinned")

    @property
    def threads(self) -> _Threads:
        """The number of threads of each pool, `"budget"` for what fits a worker, or None for no change."""
        threads: _Threads = self._parts.get("threads")
        return threads

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables for the workers, without those of `threads`."""
        return self._part("environment")

    @property
    def variables(self) -> dict[str, str]:
        """Variables of the driver whose flags or pools have other values in `flags` and `threads`.

        A worker with the same value of such a variable has inherited it, so the state takes precedence.
        """
        return self._part("variables")

    @property
    def origin(self) -> str | None:
        """The `file:line` that called `portable`; None if the state was made in another way."""
        origin: str | None = self._parts.get("origin")
        return origin

    @property
    def version(self) -> int:
        """The version of the format."""
        version: int = self._parts.get("version", VERSION)
        return version

    @property
    def unknown(self) -> dict[str, Any]:
        """The parts that this version of interlock does not know."""
        return {name: value for name, value in self._parts.items() if name not in _PARTS}

    def to_json(self) -> str:
        """Return the value as one line of JSON.

        Example:
            >>> from interlock.integrations import Portable
            >>> Portable({"version": 1, "threads": 2}).to_json()
            '{"threads":2,"version":1}'

        """
        return self._text

    @classmethod
    def from_json(cls, text: str) -> Portable:
        """Return the value that `to_json` has written, in this or another version of interlock.

        Args:
            text: The JSON.

        Raises:
            TypeError: `text` is not a str.
            ArgumentError: It is not the JSON of a state.

        Example:
            >>> from interlock.integrations import Portable
            >>> Portable.from_json('{"version": 1, "threads": 2}').threads
            2

        """
        if not isinstance(text, str):
            raise TypeError(f"from_json: text must be a str, got {type(text).__name__}")
        try:
            parts = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ArgumentError(f"from_json: text must be JSON, got {shown(text)}: {error}") from None
        if not isinstance(parts, dict):
            raise ArgumentError(f"from_json: text must be an object of JSON, got {shown(text)}")
        _check("from_json: text", parts)
        return cls(parts)

    def __repr__(self) -> str:
        counts = {name: len(self._part(name + "s")) for name in ("flag", "setting")}
        parts = [counted(count, name) for name, count in counts.items() if count]
        if self.threads is not None:
            parts.append(f"threads={self.threads!r}")
        if self.environment:
            parts.append(f"environment: {', '.join(self.environment)}")
        return f"<Portable: {printable(', '.join(parts)) or 'no state'}{self._source('from')}>"

    def _source(self, preposition: str) -> str:
        """Return a preposition with the line that made the state, for messages; an empty text without it."""
        return "" if self.origin is None else f" {preposition} {printable(self.origin)}"

    def __eq__(self, other: object) -> bool:
        return self._text == other._text if isinstance(other, Portable) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> Any:
        return Portable.from_json, (self._text,)

    def install(self) -> None:
        """Give this process the state. For use as the initializer of worker processes.

        Variables of this process's own environment take precedence. Flags and pins of a state that the
        process received before and that are not in this one are unset and released.

        Warns:
            PortableStateWarning: This version of interlock, or a library, does not know or does not accept a
                part of the state. The rest is applied.

        Example:
            >>> from concurrent.futures import ProcessPoolExecutor
            >>> from interlock.integrations import portable
            >>> pool = ProcessPoolExecutor(2, initializer=portable().install)
            >>> pool.shutdown()

        """
        from interlock.integrations import _received

        _received.install(self)

    def env(self) -> dict[str, str]:
        """Return the environment variables for processes that are not started yet.

        The first `import interlock` of the process and of its own children reads `INTERLOCK_STATE`. Variables
        for `environment` and `threads` reach programs that never import interlock.

        Returns:
            The variables. They replace those of the same name that the process would have.

        Raises:
            ArgumentError: The state has more than 100,000 bytes, which an environment does not accept.

        Example:
            >>> import os, subprocess, sys
            >>> from interlock.integrations import Portable
            >>> state = Portable({"version": 1, "flags": {"cudnn.benchmark_limit": 3}})
            >>> code = "from interlock import backends; print(backends.cudnn.benchmark_limit)"
            >>> command = [sys.executable, "-c", code]
            >>> done = subprocess.run(command, env=os.environ | state.env(), capture_output=True)
            >>> int(done.stdout)
            3

        """
        if len(self._text) > _LONGEST:
            raise ArgumentError(
                f"env: the state must have at most {_LONGEST} bytes, got {len(self._text)}; "
                "pass it with an initializer"
            )
        return {VARIABLE: self._text, **self.process_variables()}

    def process_variables(self) -> dict[str, str]:
        """Return the environment variables for the workers, with those of `threads` if it is a number."""
        size = self.threads
        threads = {} if size is None or size == "budget" else dict.fromkeys(THREAD_VARIABLES, str(size))
        return threads | self.environment

    def dask(self) -> list[Any]:
        """Return plugins for `Client.register_plugin`: one for nannies and one for workers.

        The nanny's sets the environment of workers that start or restart later, the worker's installs the
        state in each. A later state replaces an earlier one. Call `Client.restart` afterwards if libraries of
        workers that run have to start with the environment; the workers lose their data.

        Raises:
            UnsupportedError: distributed is not installed.
            ArgumentError: The state is too long for an environment, see `env`; or it has a setting of a
                thread or a context, which does not reach tasks, because they run on threads of a pool.

        """
        from interlock.integrations._dask import plugins

        for name in self.settings:
            setting = _registry.known(name)
            if setting is not None and setting.extent != Extent.PROCESS:
                raise ArgumentError(
                    f"dask: settings must be those of the process, got {printable(name)}, which belongs to a "
                    f"{Extent(setting.extent).value}: tasks run on threads of a pool, so set it in the tasks"
                )
        return plugins(self)

    def ray(self) -> dict[str, Any]:
        """Return a runtime environment for `ray.init` or a job, to be merged with further keys.

        It has `env_vars`, and a setup hook that needs only the standard library: it sets variables that a
        node does not set itself, and imports interlock before a library of `settings` is imported.

        Raises:
            ArgumentError: The state is too long for an environment, see `env`.

        """
        from interlock.integrations._ray import runtime_environment

        return runtime_environment(self)

    def spark(self) -> dict[str, str]:
        """Return the options `spark.executorEnv.*` for `SparkConf.setAll` or `SparkSession.builder.config`.

        Raises:
            ArgumentError: The state is too long for an environment, see `env`.

        Example:
            >>> from interlock.integrations import Portable
            >>> state = Portable({"version": 1, "environment": {"NCCL_DEBUG": "INFO"}})
            >>> state.spark()["spark.executorEnv.NCCL_DEBUG"]
            'INFO'

        """
        return {f"spark.executorEnv.{name}": value for name, value in self.env().items()}

    def joblib(self) -> dict[str, Any]:
        """Return arguments for `joblib.parallel_config`: the backend loky, with an initializer.

        Example:
            >>> from interlock.integrations import portable
            >>> sorted(portable(threads=2).joblib())
            ['backend', 'initializer', 'inner_max_num_threads']

        """
        from interlock.integrations._by_value import installer

        options: dict[str, Any] = {"backend": "loky", "initializer": installer(self._text)}
        if isinstance(self.threads, int):
            options["inner_max_num_threads"] = self.threads
        return options

    def dataloader(self, worker_init_fn: Callable[[int], object] | None = None) -> Callable[[int], None]:
        """Return the argument `worker_init_fn` for `torch.utils.data.DataLoader`.

        Args:
            worker_init_fn: A function that each worker calls afterwards, with its number; None for none.

        Raises:
            TypeError: `worker_init_fn` is not callable.

        """
        from interlock.integrations._dataloader import WorkerInitializer

        return WorkerInitializer(self, worker_init_fn)

    def observe(self) -> dict[str, Any]:
        """Return what this process has of the state: values, and reasons where they differ.

        Call it in a worker that `verify` cannot reach, such as an actor, and pass the results to `verify`.

        Returns:
            A dict that can be dumped as JSON.

        """
        from interlock.integrations import _received

        return _received.observe(self)

    def verify(self, workers: Any = None, *, timeout: float = 60.0) -> Verification:
        """Compare what worker processes have with the state.

        Args:
            workers: A Dask client, the module `ray` (one worker of each node), a Spark session or context, a
                `joblib.Parallel`, an executor of `concurrent.futures` or loky, a `multiprocessing.Pool`, or a
                mapping from names to results of `observe`. None for this process.
            timeout: The seconds that an answer may take; no limit for joblib and Spark.

        Returns:
            The comparison. It is true if no worker differs; `str` of it is a table for people.

        Raises:
            TypeError: An argument has a wrong type.
            ArgumentError: `timeout` is not positive.

        Example:
            >>> from interlock.integrations import Portable
            >>> print(Portable({"version": 1, "flags": {"cudnn.benchmark_limit": 10}}).verify())
            1 worker: no difference from the state

        """
        from interlock.integrations import _verify

        return _verify.verify(self, workers, timeout)


set_home("interlock.integrations", Portable)


def portable(
    *,
    threads: _Threads = None,
    settings: Iterable[str] = (),
    environment: Iterable[str] | Mapping[str, str] = (),
) -> Portable:
    """Return the state of this process for workers of an engine.

    It has the assigned flags, and the settings of enabled libraries that are pinned or overridden here. In a
    worker it also passes on what the worker received. Open scopes of flags and modes are not part of it.

    Args:
        threads: The number of threads of each pool of a worker, `"budget"` for what `threads.budget` returns
            in the worker, or None to leave the pools as they are.
        settings: Names of further settings, whose present values are included.
        environment: Names of environment variables, whose present values are included, or a mapping with
            values. No other variable is included, except those that `Portable.variables` describes.

    Raises:
        TypeError: An argument has a wrong type.
        ArgumentError: `threads` is less than 1, or a variable is not set or has an invalid name.
        UnknownSettingError: A setting is not known.

    Example:
        >>> from interlock import backends
        >>> from interlock.integrations import portable
        >>> with backends.cudnn.flags(enabled=True):
        ...     portable(threads=2).threads
        2

    """
    if threads != "budget" and threads is not None and not _is_size(threads):
        is_int = isinstance(threads, int) and not isinstance(threads, bool)
        kind = ArgumentError if is_int else TypeError
        raise kind(f'portable: threads must be a positive int, "budget" or None, got {shown(threads)}')
    held, pinned = _held_settings()
    held |= _present_settings(settings)
    variables = {
        name.removeprefix(ENVIRON): held.pop(name) for name in [*held] if name.startswith(ENVIRON)
    } | _named_variables(environment)
    parts: dict[str, Any] = {
        "version": VERSION,
        "interlock": interlock.__version__,
        "origin": str(caller()),
        "flags": {entry.name: entry.value for entry in backends.snapshot() if entry.level == "process"},
        "settings": held,
        "pinned": {name: on_write for name, on_write in pinned.items() if name in held},
        "threads": None if threads is None else threads if threads == "budget" else int(threads),
        "environment": {name: value for name, value in variables.items() if value is not None},
    }
    parts = _with_received(parts)
    parts["variables"] = _overridden_variables(parts)
    kept = {name: value for name, value in parts.items() if value not in ({}, None)}
    return Portable(kept)


def _held_settings() -> tuple[dict[str, Any], dict[str, str]]:
    """Return the settings that scopes and pins hold here, and for pinned ones what a write does."""
    run_imported()
    values: dict[str, Any] = {}
    pinned: dict[str, str] = {}
    for scope in _scopes.chain():
        for name, value in scope.values.items():
            values.setdefault(name, value)
    for setting in _registry.each():
        holders = _scopes.holders(setting.name)
        if holders and setting.extent == Extent.PROCESS:
            values[setting.name] = holders[-1].values[setting.name]
        for scope in holders:
            if scope.on_write is not None:
                pinned[setting.name] = scope.on_write
    return {name: value for name, value in values.items() if _is_plain(value)}, pinned


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _present_settings(names: Iterable[str]) -> dict[str, Any]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise TypeError(f"portable: settings must be an iterable of str, got {shown(names)}")
    chosen = [_lookup.get("portable", name) for name in names]
    return {setting.name: _readable(setting) for setting in chosen}


def _readable(setting: Setting) -> Any:
    value = read(setting)
    if isinstance(value, Unreadable):
        raise ArgumentError(f"portable: the setting {setting.name} cannot be read: {value.reason}")
    return value


def _named_variables(environment: Iterable[str] | Mapping[str, str]) -> dict[str, str | None]:
    """Return the variables of the argument `environment`."""
    if isinstance(environment, str) or not isinstance(environment, Iterable):
        raise TypeError(
            f"portable: environment must be an iterable or mapping of str, got {shown(environment)}"
        )
    if isinstance(environment, Mapping):
        given: dict[Any, Any] = dict(environment)
    else:
        given = {name: os.environ.get(name) if isinstance(name, str) else None for name in environment}
    for name, value in given.items():
        if not isinstance(name, str):
            raise TypeError(f"portable: the name of a variable must be a str, got {shown(name)}")
        if not is_variable(name):
            raise ArgumentError(f"portable: {quoted(name)} is not the name of a variable for workers")
        if value is None and not isinstance(environment, Mapping):
            raise ArgumentError(
                f"portable: the variable {quoted(name)} is not set; pass a mapping with values"
            )
        if not isinstance(value, str):
            raise TypeError(f"portable: the variable {quoted(name)} must be a str, got {shown(value)}")
        if not is_text(value):
            raise ArgumentError(f"portable: the variable {quoted(name)} has an invalid value, {shown(value)}")
    return given


def is_variable(name: str) -> bool:
    """Return whether a text can be the name of a variable that a state sets."""
    return name not in ("", VARIABLE) and "=" not in name and is_text(name)


def is_text(value: object) -> bool:
    """Return whether a value can be stored in the environment of a process."""
    if not isinstance(value, str) or "\0" in value:
        return False
    try:
        os.fsencode(value)
    except UnicodeEncodeError:
        return False
    return True


def _with_received(parts: dict[str, Any]) -> dict[str, Any]:
    """Add what this process received and what its own state does not have."""
    module = sys.modules.get("interlock.integrations._received")
    earlier: Portable | None = None if module is None else module.received()
    if earlier is None:
        return parts
    found = {name: _registry.known(name) for name in earlier.settings}
    present = {
        name: earlier.settings[name] if setting is None else read(setting) for name, setting in found.items()
    }
    settings = {name: value for name, value in present.items() if _is_plain(value)} | parts["settings"]
    variables = {name: os.environ.get(name, value) for name, value in earlier.environment.items()}
    # A flag whose library is not imported here is not in a snapshot.
    flags = {name: value for name, value in earlier.flags.items() if not _is_known(name)}
    return {
        **earlier.unknown,
        **parts,
        "flags": flags | parts["flags"],
        "settings": settings,
        "pinned": {name: how for name, how in earlier.pinned.items() if name in settings} | parts["pinned"],
        "threads": earlier.threads if parts["threads"] is None else parts["threads"],
        "environment": variables | parts["environment"],
    }


def _is_known(flag: str) -> bool:
    try:
        backends.explain(flag)
    except UnknownFlagError:
        return False
    return True


def _overridden_variables(parts: Mapping[str, Any]) -> dict[str, str]:
    """Return the variables of this process whose flags or pools have other values in a state."""
    names = [name for flag in parts["flags"] for name in flag_variables(flag)]
    if parts["threads"] is not None:
        names += THREAD_VARIABLES
    return {name: os.environ[name] for name in names if is_text(os.environ.get(name))}


def flag_variables(flag: str) -> tuple[str, ...]:
    """Return the environment variables of a flag; none for a mode, a device or an unknown flag."""
    try:
        return backends.describe(flag).variables
    except UnknownFlagError:
        return ()


def _check(what: str, parts: Mapping[str, Any]) -> None:
    """Raise `ArgumentError` for a known part with an invalid value."""
    for name, value in parts.items():
        if not isinstance(name, str):
            raise ArgumentError(f"{what} must have names of type str, got {shown(name)}")
        check = _PARTS.get(name)
        if check is not None and not check[0](value):
            raise ArgumentError(f"{what} must have {check[1]} as {name}, got {shown(value)}")
    pinned, settings = parts.get("pinned", {}), parts.get("settings", {})
    if not pinned.keys() <= settings.keys():
        raise ArgumentError(f"{what} must have a value in settings for each name in pinned")


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 1_000_000


def _is_table(value: object, of: Callable[[Any], bool] = lambda _: True) -> bool:
    return isinstance(value, dict) and all(isinstance(name, str) and of(each) for name, each in value.items())


def _is_environment(value: object) -> bool:
    return _is_table(value, is_text) and isinstance(value, dict) and all(map(is_variable, value))


# Of each known part whether a value is valid, and the words for a valid one.
_PARTS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "version": (_is_size, "a positive int"),
    "interlock": (lambda value: isinstance(value, str), "a str"),
    "origin": (lambda value: isinstance(value, str), "a str"),
    "flags": (_is_table, "an object with values by name"),
    "settings": (lambda value: _is_table(value, _is_plain), "an object with plain values by name"),
    "pinned": (
        lambda value: _is_table(value, lambda how: how in _ON_WRITE),
        '"raise", "warn" or "ignore" by name',
    ),
    "threads": (lambda value: value == "budget" or _is_size(value), 'a positive int or "budget"'),
    "environment": (_is_environment, "an object of str by name"),
    "variables": (lambda value: _is_table(value, is_text), "an object of str by name"),
}
