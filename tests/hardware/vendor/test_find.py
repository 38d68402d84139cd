"""Libraries are found in their packages, and the search loads none."""

from __future__ import annotations

import pytest
from interlock.backends import libraries

from tests.hardware.vendor.expected_packages import LIBRARIES, NOT_PACKED, Packed
from tests.hardware.vendor.programs import answer, answer_of

EACH = pytest.mark.parametrize(("name", "packed"), LIBRARIES.items(), ids=LIBRARIES)


def test_expected_packages_cover_all_but_driver_libraries() -> None:
    assert sorted({*LIBRARIES, *NOT_PACKED}) == sorted(libraries.NAMES)


@EACH
def test_library_is_found_in_its_package(name: str, packed: Packed) -> None:
    code = f"""
        from interlock.backends import libraries
        found = libraries.find({name!r})
        result = [found.path, str(found.source), found.is_loaded, found.version]
    """
    assert packed.file.is_file()
    assert answer(code) == [str(packed.file), "packages", False, None]


def test_importing_interlock_and_all_its_modules_loads_none() -> None:
    assert answer_of("libraries.import_everything") == [[], []]


def test_looking_for_everything_loads_none() -> None:
    assert answer_of("libraries.find_every_library") == [[True] * 5, True, [], []]


@EACH
def test_loading_maps_only_dependencies_of_the_library(name: str, packed: Packed) -> None:
    code = f"""
        from interlock.backends import libraries
        libraries.load({name!r})
        result = [os.path.basename(file).partition(".so")[0] for file in vendors()]
    """
    assert sorted(answer(code)) == sorted(packed.brings)
