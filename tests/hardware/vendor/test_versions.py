"""The versions of libraries equal those of their packages, without a GPU and a driver."""

from __future__ import annotations

import ctypes

import pytest
from interlock.backends import libraries

from tests.hardware.vendor.expected_packages import LIBRARIES, Packed
from tests.hardware.vendor.programs import answer

EACH = pytest.mark.parametrize(("name", "packed"), LIBRARIES.items(), ids=LIBRARIES)


@EACH
def test_version_equals_that_of_the_package(name: str, packed: Packed) -> None:
    code = f"""
        from interlock.backends import libraries
        loaded = libraries.load({name!r})
        assert loaded == libraries.find({name!r}) == libraries.load({name!r})
        result = [loaded.path, str(loaded.source), loaded.is_loaded, loaded.version]
    """
    assert answer(code) == [str(packed.file), "packages", True, packed.version()]


def test_all_are_loaded_into_one_process() -> None:
    code = """
        from interlock.backends import libraries
        names = [name for name in libraries.NAMES if libraries.find(name).path is not None]
        result = {name: libraries.load(name).version for name in names}
    """
    versions = answer(code)
    assert {name: versions[name] for name in LIBRARIES} == {
        name: packed.version() for name, packed in LIBRARIES.items()
    }


def counted(version: str | None, major: int) -> int:
    """Return a version as one number, as in a header with this weight of the major version."""
    assert version is not None
    first, second, third = map(int, version.split("."))
    return first * major + second * 100 + third


def test_cudnn_version_number_matches_its_header() -> None:
    code = "from interlock.backends import cudnn; result = [cudnn.version(), cudnn.version()]"
    assert answer(code) == [counted(LIBRARIES["cudnn"].version(), 10_000)] * 2


def test_cusparselt_version_number_matches_its_header() -> None:
    code = "from interlock.backends import cusparselt; result = cusparselt.version()"
    assert answer(code) == counted(LIBRARIES["cusparselt"].version(), 1000)


def test_cusparselt_algorithms_of_this_version_are_unknown() -> None:
    code = "from interlock.backends import cusparselt; result = [cusparselt.get_max_alg_id()]"
    assert answer(code) == [None]


def test_nvml_is_found_exactly_if_a_driver_is_installed() -> None:
    try:
        ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        is_installed = False
    else:
        is_installed = True
    assert (libraries.find("nvml").path is not None) == is_installed
