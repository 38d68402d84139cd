"""The runtime environment that gives the workers of a Ray cluster a state."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from interlock.integrations import _interlock_ray_setup

if TYPE_CHECKING:
    from interlock.integrations._portable import Portable


def runtime_environment(state: Portable) -> dict[str, Any]:
    """Return the keys of a runtime environment; see `Portable.ray`.

    The hook has an import path of a module that Ray uploads: a worker without interlock can import it, and
    a path works for jobs that are submitted and for drivers that are workers, where functions do not.
    """
    from interlock.integrations._portable import VARIABLE

    hook = _interlock_ray_setup
    return {
        "env_vars": {VARIABLE: state.env()[VARIABLE]},
        "py_modules": [os.path.abspath(hook.__file__)],
        "worker_process_setup_hook": f"{hook.__name__.rpartition('.')[2]}.{hook.install.__name__}",
    }
