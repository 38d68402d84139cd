"""The CPU capability, which depends on the machine and is limited by the environment."""

from __future__ import annotations

import pytest
from interlock import backends

from tests.helpers.subprocess import eval_program

NAMES = {
    "DEFAULT": "default",
    "VSX": "vsx",
    "Z VECTOR": "zvector",
    "AVX2": "avx2",
    "AVX512": "avx512",
    "SVE256": "sve256",
}


def query(wish: str | None) -> tuple[str, list[list[str]]]:
    """Return the capability and the warnings of a process with this environment variable."""
    env = {} if wish is None else {"ATEN_CPU_CAPABILITY": wish}
    seen, caught = eval_program("backends.libraries.query_the_cpu_capability", env=env)
    assert len(set(seen)) == 1
    return seen[0], caught


def test_cpu_capability_has_a_known_name() -> None:
    assert backends.cpu.get_cpu_capability() in NAMES


def test_environment_may_select_a_supported_or_lower_capability() -> None:
    widest, caught = query(None)
    assert caught == []
    assert query(NAMES[widest]) == (widest, [])
    assert query("default") == ("DEFAULT", [])
    if widest == "AVX512":
        assert query("avx2") == ("AVX2", [])


@pytest.mark.parametrize("wish", ["", "bogus", "DEFAULT", "AVX2", "avx", "no avx"])
def test_invalid_capability_is_ignored_with_one_warning(wish: str) -> None:
    capability, caught = query(wish)
    assert capability == query(None)[0]
    ((category, message),) = caught
    assert category == "FlagEnvironmentWarning"
    assert "ATEN_CPU_CAPABILITY" in message
    assert repr(wish).strip("'") in message
    assert "default" in message


def test_environment_cannot_exceed_the_cpu() -> None:
    widest, _ = query(None)
    for name, wish in NAMES.items():
        capability, caught = query(wish)
        assert capability == (widest if caught else name)
        assert bool(caught) == (name not in ("DEFAULT", widest) and (name, widest) != ("AVX2", "AVX512"))
