"""Settings by the names that programs pass."""

from __future__ import annotations

from interlock import backends
from interlock._quote import quoted
from interlock._suggest import closest_match
from interlock.errors import UnknownFlagError, UnknownSettingError
from interlock.settings import _registry
from interlock.settings._libraries import KNOWN, steps_to_know
from interlock.settings._registry import FLAGS
from interlock.settings._setting import Setting


def get(function: str, name: str) -> Setting:
    """Return a setting. Raises `UnknownSettingError`, with a suggestion if a name is similar."""
    if not isinstance(name, str):
        raise TypeError(f"{function}: name must be a str, got {type(name).__name__}")
    found = _registry.known(name)
    if found is not None:
        return found
    raise UnknownSettingError(f"{function}: unknown setting {quoted(name)}{_hint(name)}")


def _hint(name: str) -> str:
    """Return what helps if no setting has a name."""
    flag = name.removeprefix(f"{FLAGS}.")
    try:
        backends.describe(flag)
    except UnknownFlagError as error:
        if flag != name:
            return f"; {error}"
    else:
        return f"; {quoted(flag)} is a flag: use backends.explain, backends.override and backends.restore"
    names = _registry.names()
    similar = closest_match(name, names)
    if similar is None:
        # The last part is what users remember.
        ends = [each for each in names if each.rpartition(".")[2] == name.rpartition(".")[2]]
        similar = ends[0] if len(ends) == 1 else None
    if similar:
        return f'; did you mean "{similar}"?'
    library = name.partition(".")[0]
    if any(each.startswith(f"{library}.") for each in names):
        return ""
    quotation = quoted(library)
    module = library if library in KNOWN else closest_match(library, KNOWN)
    if module is None:
        return f"; no setting of {quotation} is known: settings.register declares settings"
    steps = steps_to_know(module)
    return f"; no setting of {quotation} is known" + (f": {' and '.join(steps)}" if steps else "")
