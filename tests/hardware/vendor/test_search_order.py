"""The search order: explicit, loaded, packages, environment, system."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from tests.hardware.vendor.expected_packages import CUDA_13, LIBRARIES, NVRTC_12, PREFIX
from tests.hardware.vendor.programs import answer_of

ONEDNN = LIBRARIES["onednn"].file
# The package contains the library three times, under three names.
OTHER_ONEDNN = PREFIX / "libdnnl.so.3.2"


@pytest.mark.parametrize("given", [OTHER_ONEDNN, "folder"], ids=["file", "folder"])
def test_variable_precedes_loaded_libraries(given: Path | str, tmp_path: Path) -> None:
    expected = OTHER_ONEDNN
    if given == "folder":
        expected = tmp_path / "libdnnl.so.3"
        expected.symlink_to(OTHER_ONEDNN)
        given = tmp_path
    env = {"INTERLOCK_ONEDNN_PATH": str(given)}
    found, loaded, version, copies = answer_of("libraries.find_and_load_onednn", str(ONEDNN), False, env=env)
    assert found == loaded == [str(expected), "explicit"]
    assert version == LIBRARIES["onednn"].version()
    assert copies == sorted(str(file.resolve()) for file in (ONEDNN, OTHER_ONEDNN))


@pytest.mark.parametrize("variable", ["", str(ONEDNN)], ids=["alone", "with variable"])
def test_argument_precedes_loaded_libraries_and_variable(variable: str) -> None:
    paths, env = (str(ONEDNN), str(OTHER_ONEDNN)), {"INTERLOCK_ONEDNN_PATH": variable}
    expected = [str(OTHER_ONEDNN), "explicit", True, LIBRARIES["onednn"].version()]
    assert answer_of("libraries.load_a_path_beside_a_loaded_library", *paths, env=env) == expected


def test_loaded_libraries_precede_packages() -> None:
    found, loaded, version, copies = answer_of("libraries.find_and_load_onednn", str(OTHER_ONEDNN), False)
    assert found == loaded == [str(OTHER_ONEDNN), "loaded"]
    assert version == LIBRARIES["onednn"].version()
    assert copies == [str(OTHER_ONEDNN.resolve())]


@pytest.mark.parametrize("variable", ["LD_LIBRARY_PATH", "CONDA_PREFIX"])
def test_packages_precede_the_environment_and_the_system(variable: str, tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    elsewhere = tmp_path / "lib" / "libdnnl.so.3"
    elsewhere.symlink_to(OTHER_ONEDNN)
    env = {variable: str(tmp_path if variable == "CONDA_PREFIX" else elsewhere.parent)}
    found, loaded, _, _ = answer_of("libraries.find_and_load_onednn", None, False, env=env)
    assert found == loaded == [str(ONEDNN), "packages"]
    found, loaded, _, _ = answer_of("libraries.find_and_load_onednn", None, True, env=env)
    assert found == loaded == [str(elsewhere), "environment"]


@pytest.mark.parametrize("variable", ["CUDA_HOME", "CUDA_PATH"])
def test_installation_of_cuda_is_found_where_there_are_no_packages(variable: str, tmp_path: Path) -> None:
    (tmp_path / "lib64").symlink_to(CUDA_13)
    path = str(tmp_path / "lib64" / "libcusparse.so.12")
    expected = ["packages", "environment", path, LIBRARIES["cusparse"].version()]
    assert answer_of("libraries.load_from_an_installation_of_cuda", env={variable: str(tmp_path)}) == expected


def test_library_of_the_system_is_found_where_there_are_no_packages() -> None:
    # oneDNN needs it, and its package does not contain it.
    expected = ["packages", "system", "system", True, "libgomp.so.1"]
    assert answer_of("libraries.load_from_the_system") == expected


def test_package_of_cuda_12_is_found_in_a_folder_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "nvidia").mkdir()
    (tmp_path / "nvidia" / "cuda_nvrtc").symlink_to(NVRTC_12.parent.parent)
    *paths, version = answer_of("libraries.load_from_other_packages", str(tmp_path))
    path = tmp_path / "nvidia" / "cuda_nvrtc" / "lib" / "libnvrtc.so.12"
    assert paths == [str(LIBRARIES["nvrtc"].file), "packages", str(path)]
    assert version.split(".") == metadata.version("nvidia-cuda-nvrtc-cu12").split(".")[:2]
