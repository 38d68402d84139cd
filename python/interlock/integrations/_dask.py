"""Plugins that give the workers of a Dask cluster a state, before they start and while they run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlock.errors import UnsupportedError
from interlock.integrations._by_value import installer

if TYPE_CHECKING:
    from interlock.integrations._portable import Portable

_NAME = "interlock state"


def plugins(state: Portable) -> list[Any]:
    """Return a plugin for nannies and one for workers; see `Portable.dask`."""
    # Imported here, because that module imports this one's caller.
    from interlock.integrations._portable import VARIABLE

    try:
        from distributed import NannyPlugin, WorkerPlugin
    except ImportError as error:
        raise UnsupportedError(f"dask: distributed cannot be imported: {error}") from None
    return [
        _nanny_plugin(NannyPlugin, VARIABLE, state.env(), dict(state.variables)),
        _worker_plugin(WorkerPlugin, installer(state.to_json())),
    ]


# The classes are nested in functions, so that cloudpickle copies them to workers without interlock. To type
# checkers their base is `Any`, because they run without distributed.


def _nanny_plugin(base: Any, variable: str, environment: dict[str, str], variables: dict[str, str]) -> Any:
    class InterlockNannyPlugin(base):  # type: ignore[misc]
        name = f"{_NAME} of nannies"
        # Dask 2026.8 loses workers that a plugin restarts; Client.restart does not.
        restart = False

        def setup(self, nanny: Any) -> None:
            import os

            from dask import config

            defaults = config.get("distributed.nanny.pre-spawn-environ", {})
            # The nanny exports what it was given, so it looks like the environment of its machine later.
            placed = vars(nanny).setdefault("_interlock_state_placed", {})
            for name, value in environment.items():
                own = nanny.env.get(name, os.environ.get(name))
                not_own = (value, variables.get(name), placed.get(name), str(defaults.get(name)))
                if name == variable:
                    nanny.env[name] = value
                elif own is None or own in not_own:
                    # Before the process starts, because some libraries read variables at their start.
                    nanny.pre_spawn_env[name] = nanny.env[name] = placed[name] = value

    return InterlockNannyPlugin()


def _worker_plugin(base: Any, install: Any) -> Any:
    class InterlockWorkerPlugin(base):  # type: ignore[misc]
        name = f"{_NAME} of workers"

        def setup(self, worker: Any) -> None:
            install()

    return InterlockWorkerPlugin()
