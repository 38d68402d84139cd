"""The wheel that `make test` built: its contents and its import."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from interlock._features import HAS_TENSORS

ROOT = Path(__file__).resolve().parents[2]
# The sizes of a release; a build without optimization is up to four times as large.
SIZES = re.findall(
    r"^\| (wheel|extension module), at most \| ([\d.]+) MB \| ([\d.]+) MB \|$",
    (ROOT / "docs" / "install.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)
# Paths of sources, which panics print.
OF_TENSORS = (b"rust/tensor/src", b"gemm-common-")


@pytest.fixture(scope="module")
def wheel() -> Path:
    """Return the wheel that the step `wheel` of tools/check.py built."""
    (found,) = (ROOT / "target" / "check" / "wheel").glob("*.whl")
    return found


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    """Return the names of the files in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with only the files of the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def run_python(code: str, path: Path) -> str:
    """Run `code` in an interpreter that sees the standard library and `path` only."""
    command = [
        sys.executable,
        "-I",
        "-S",
        "-W",
        "error",
        "-c",
        f"import sys; sys.path.append({str(path)!r})\n{code}",
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=path)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def test_one_wheel_serves_every_python_from_3_11_on(wheel: Path) -> None:
    _name, _version, python, abi, _platform = wheel.stem.split("-")
    assert (python, abi) == ("cp311", "abi3")


def test_wheel_contains_every_stub_and_py_typed(names: set[str]) -> None:
    stubs = {f"interlock/_core/{stub.name}" for stub in (ROOT / "stubs/interlock/_core").glob("*.pyi")}
    assert stubs
    assert {name for name in names if name.startswith("interlock/_core/")} == stubs
    assert "interlock/py.typed" in names


def test_wheel_contains_every_python_module(names: set[str]) -> None:
    sources = ROOT / "python"
    modules = {path.relative_to(sources).as_posix() for path in sources.rglob("*.py")}
    assert modules
    assert {name for name in names if name.endswith(".py")} == modules


def test_wheel_registers_the_pytest_plugin(unpacked: Path) -> None:
    (file,) = unpacked.glob("*.dist-info/entry_points.txt")
    assert "".join(file.read_text().split()) == "[pytest11]interlock=_interlock_pytestplugin"


def test_wheel_contains_its_licences_and_those_of_other_crates(names: set[str]) -> None:
    licences = {Path(name).name for name in names if ".dist-info/licenses/" in name}
    assert licences == {"LICENSE-APACHE", "LICENSE-MIT", "LICENSE-THIRD-PARTY"}


def test_wheel_contains_the_sbom_of_the_source_tree(unpacked: Path) -> None:
    (sbom,) = unpacked.glob("*.dist-info/sboms/*")
    assert sbom.read_bytes() == (ROOT / "rust/extension/sbom.cdx.json").read_bytes()


def test_wheel_installs_only_the_package_and_the_pytest_plugin(names: set[str]) -> None:
    folders = {name.split("/", 1)[0] for name in names}
    installed = {"interlock", "_interlock_pytestplugin.py"}
    assert installed < folders
    (information,) = folders - installed
    assert information.endswith(".dist-info")


def test_wheel_contains_one_extension_module_and_no_other_library(names: set[str]) -> None:
    assert [name for name in names if ".so" in name or ".dylib" in name] == ["interlock/_core.abi3.so"]


@pytest.mark.skipif(shutil.which("readelf") is None, reason="reads the library with readelf")
def test_extension_links_only_the_c_library(unpacked: Path) -> None:
    command = ["readelf", "--dynamic", "--wide", str(unpacked / "interlock/_core.abi3.so")]
    reported = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | {"LC_ALL": "C"}
    ).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", reported)
    assert "libc.so.6" in needed
    of_c = r"(libc|libm|libdl|libpthread|librt|libgcc_s|ld-linux[-\w]*)\.so\.\d+"
    assert [name for name in needed if not re.fullmatch(of_c, name)] == []
    assert not re.search(r"\((RPATH|RUNPATH)\)", reported)


def test_wheel_and_extension_are_as_small_as_the_page_says(wheel: Path, unpacked: Path, full: bool) -> None:
    files = {"wheel": wheel, "extension module": unpacked / "interlock/_core.abi3.so"}
    assert len(SIZES) == len(files)
    for name, complete, light in SIZES:
        budget = float(complete if HAS_TENSORS else light) * 1e6
        # `--full` tests a release.
        assert files[name].stat().st_size < budget * (1 if full else 4), name


@pytest.mark.parametrize("path", OF_TENSORS)
def test_extension_contains_the_tensor_runtime_only_as_its_feature(unpacked: Path, path: bytes) -> None:
    library = (unpacked / "interlock/_core.abi3.so").read_bytes()
    assert b"rust/core/src" in library
    assert (path in library) == HAS_TENSORS


def test_import_needs_no_other_package_and_warns_of_nothing(unpacked: Path) -> None:
    print_origin = "import interlock, interlock._core; print(interlock._core.__spec__.origin)"
    assert Path(run_python(print_origin, unpacked).strip()) == unpacked / "interlock/_core.abi3.so"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_importing_loads_no_library_of_a_device_vendor(unpacked: Path) -> None:
    maps = run_python(
        "import interlock; import pathlib; print(pathlib.Path('/proc/self/maps').read_text())", unpacked
    )
    loaded = {line.split()[-1] for line in maps.splitlines() if "/" in line}
    assert any(path.endswith("interlock/_core.abi3.so") for path in loaded)
    vendors = ("cuda", "nvidia", "cublas", "cudnn", "mkl", "dnnl", "iomp")
    assert [path for path in loaded if any(word in Path(path).name for word in vendors)] == []
