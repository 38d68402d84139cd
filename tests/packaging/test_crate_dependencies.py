"""Dependencies between crates, and between the folders of a crate, have no cycle and one direction.

Crates that are published have the metadata, the files and the versions that the registry needs.
"""

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.import_cycles import cycle

pytestmark = pytest.mark.any_build
ROOT = Path(__file__).resolve().parents[2]

# The allowed dependencies of each crate, from the lowest to the highest.
BELOW_ACCELERATOR = {"interlock-core", "interlock-driver", "interlock-host", "interlock-cuda"}
ALLOWED = {
    "interlock-sys": set(),
    "interlock-core": {"interlock-sys"},
    "interlock-driver": {"interlock-core"},
    "interlock-host": {"interlock-core", "interlock-driver"},
    "interlock-cuda": {"interlock-core", "interlock-driver"},
    "interlock-accelerator": BELOW_ACCELERATOR,
    "interlock-runtime": BELOW_ACCELERATOR | {"interlock-accelerator"},
    # interlock-core for locks and contexts, which the facade does not export.
    "interlock-tensor": {"interlock-core", "interlock-runtime"},
    # Extension modules of other projects depend on it: it must contain no state.
    "interlock-capi": {"interlock-sys"},
    "interlock-capi-table": {"interlock-capi", "interlock-core", "interlock-runtime", "interlock-sys"},
    # interlock-driver only for features that the Rust tests enable: see shared-with-tests.
    "interlock-python": {
        "interlock-capi-table",
        "interlock-core",
        "interlock-driver",
        "interlock-runtime",
        "interlock-tensor",
        "interlock-tensor-op",
    },
    "interlock-extension": {"interlock-python"},
    "interlock-tensor-op": set(),
    "example_driver": {"interlock-driver"},
}
FOLDERS = (
    "sys",
    "core",
    "driver",
    "host",
    "cuda",
    "accelerator",
    "tensor",
    "tensor-op",
    "capi",
    "capi-table",
    "python",
)
# Packages that a crate without its default features must not depend on, so that users of flags alone do not
# compile them, nor users of the extension without the tensor runtime.
ABSENT = {
    "interlock-core": {"cudarc", "slab", "gemm", "pyo3"},
    "interlock-extension": {"interlock-tensor", "gemm", "gemm-common", "half", "libm", "pulp"},
}

# The bindings are not published, nor the crates that only they use: the wheel contains them.
PUBLISHED = BELOW_ACCELERATOR | {
    "interlock-accelerator",
    "interlock-capi",
    "interlock-runtime",
    "interlock-sys",
}
# Slugs of the registry, which ignores an unknown one.
CATEGORIES = {
    "api-bindings",
    "concurrency",
    "config",
    "development-tools::testing",
    "emulators",
    "external-ffi-bindings",
    "hardware-support",
    "memory-management",
    "science",
}

# Accepted cycles, each with its reason.
CYCLES: dict[str, dict[frozenset[str], str]] = {
    "host": {
        frozenset({"exec", "object", "fault_injection", "options"}): (
            "the scheduler advances the objects, which queue commands; faults are injected into both"
        ),
    },
}

PATH = re.compile(r"(?<![\w:])(crate|super(?:::super)*)((?:::\w+)+|::\{)")
GROUP = re.compile(r"use (crate|super(?:::super)*)::\{([^;]*)\};", re.DOTALL)
# But for methods of numbers, collections, pointers and iterators, which tensors have as well.
STANDARD = "abs|add|any|count|flatten|is_empty|max|min|product|push|read|remainder|take|to_vec|write|zip"
CALL = re.compile(rf"(?:\.|\b[A-Z]\w*::)(?!(?:{STANDARD})\b)(\w+)(?:::<[^>]*>)?\(")
FUNCTION = re.compile(r"\bfn (\w+)")
METHOD = re.compile(r"^    pub(?:\(\w+\))? fn (\w+)", re.MULTILINE)
TESTS = re.compile(r"^#\[cfg\((?:all\()?test\b.*?^(?:mod \w+;|mod \w+ \{.*?^\})", re.DOTALL | re.MULTILINE)


def packages() -> dict[str, dict[str, Any]]:
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--offline"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return {package["name"]: package for package in json.loads(done.stdout)["packages"]}


@pytest.mark.parametrize("name", ALLOWED)
def test_crate_depends_on_lower_crates_only(name: str) -> None:
    found = packages()
    # Including development dependencies: one on a higher crate would compile a crate, and its statics, twice.
    ours = {one["name"] for one in found[name]["dependencies"] if one["name"] in found}
    assert ours <= ALLOWED[name]


def test_example_driver_depends_on_the_driver_crate_alone() -> None:
    # Neither other crates of interlock nor third-party crates, so that it can be copied with one dependency.
    assert {one["name"] for one in packages()["example_driver"]["dependencies"]} == {"interlock-driver"}


def test_interlock_capi_depends_on_c_types_and_libc_alone() -> None:
    assert {one["name"] for one in packages()["interlock-capi"]["dependencies"]} == {"interlock-sys", "libc"}
    assert packages()["interlock-sys"]["dependencies"] == []


@pytest.mark.parametrize("name", ABSENT)
def test_crate_compiles_without_heavy_dependencies(name: str) -> None:
    command = ["cargo", "tree", "--offline", "--package", name, "--no-default-features"]
    command += ["--edges", "normal", "--prefix", "none"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    compiled = {line.split()[0] for line in done.stdout.splitlines() if line}
    assert name in compiled
    assert not ABSENT[name] & compiled


def test_only_published_crates_can_be_published() -> None:
    registries = {name: package["publish"] for name, package in packages().items()}
    assert {name for name, allowed in registries.items() if allowed == ["crates-io"]} == PUBLISHED
    assert all(allowed == [] for name, allowed in registries.items() if name not in PUBLISHED)


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_published_crate_has_metadata(name: str) -> None:
    package = packages()[name]
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
    for key in ("edition", "homepage", "license", "repository", "version"):
        assert package[key] == workspace[key]
    assert package["rust_version"].startswith(workspace["rust-version"])
    assert package["documentation"] == f"https://docs.rs/{name}"
    assert package["description"].endswith(".")
    assert 1 <= len(package["keywords"]) <= 5
    assert all(re.fullmatch(r"[a-z][a-z0-9-]{0,19}", keyword) for keyword in package["keywords"])
    assert package["categories"]
    assert set(package["categories"]) <= CATEGORIES
    # `make check-crates` builds the pages with these options.
    assert package["metadata"]["docs"]["rs"] == {
        "all-features": True,
        "targets": ["x86_64-unknown-linux-gnu"],
    }


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_published_crate_depends_on_published_crates_of_its_version(name: str) -> None:
    # Crates use items of each other that may change in every release.
    found = packages()
    for one in found[name]["dependencies"]:
        if one["name"] in found:
            assert one["name"] in PUBLISHED
            assert one["req"] == f"={found[name]['version']}"


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_published_crate_contains_its_page_and_licences(name: str) -> None:
    package = packages()[name]
    folder = Path(package["manifest_path"]).parent
    assert package["readme"] == "README.md"
    page = (folder / "README.md").read_text()
    assert page.startswith(f"# {name}\n")
    assert "\n```rust\n" in page
    for licence in ("LICENSE-APACHE", "LICENSE-MIT"):
        # A link, which cargo replaces by the file.
        assert (folder / licence).resolve() == ROOT / licence
    root = (folder / "src" / "lib.rs").read_text()
    assert root.startswith("//! ")
    assert '#[cfg(doctest)]\n#[doc = include_str!("../README.md")]' in root
    for path in folder.rglob("*.rs"):
        for included in re.findall(r'include_(?:str|bytes)!\("([^"]+)"\)', path.read_text()):
            assert (path.parent / included).resolve().is_relative_to(folder)


def hidden_items(text: str) -> list[str]:
    """Return the lines of a Rust file that hide an item from rustdoc."""
    return [line.strip() for line in text.splitlines() if re.search(r"\bdoc\s*\(.*\bhidden\b", line)]


@pytest.mark.parametrize("path", sorted(ROOT.glob("rust/*/src")), ids=lambda path: path.parent.name)
def test_no_item_is_hidden_from_rustdoc(path: Path) -> None:
    files = list(path.rglob("*.rs"))
    assert files
    assert {str(file.relative_to(ROOT)): hidden_items(file.read_text()) for file in files} == {
        str(file.relative_to(ROOT)): [] for file in files
    }


def test_hidden_item_is_found() -> None:
    text = "#[doc(hidden)]\npub mod a;\n#[doc(inline)]\n#[cfg_attr(unix, doc( hidden ))]\npub use b;\n"
    assert hidden_items(text) == ["#[doc(hidden)]", "#[cfg_attr(unix, doc( hidden ))]"]


def test_facade_exports_no_module_for_other_crates_alone() -> None:
    facade = (ROOT / "rust/interlock/src/lib.rs").read_text()
    assert not re.search(r"interlock_core::(base|binding)\b|\b(base|binding)[,};]", facade)


def module_of(path: Path, source: Path) -> list[str]:
    parts = list(path.relative_to(source).with_suffix("").parts)
    return parts[:-1] if parts[-1] == "mod" else parts


def reexports(root: Path) -> dict[str, str]:
    """Return the names that the root of a crate re-exports, each with its top-level module."""
    found: dict[str, str] = {}
    for module, names in re.findall(
        r"^pub use (\w+)(?:::\w+)*::(\w+|\{[^}]*\});", root.read_text(), re.MULTILINE
    ):
        found.update((name.split()[-1], module) for name in names.strip("{}").split(",") if name.strip())
    return found


def targets(text: str, module: list[str]) -> set[str]:
    """Return the top-level modules and names of the root that the code of a module names."""
    found: set[str] = set()

    def base_of(start: str) -> list[str]:
        return [] if start == "crate" else module[: len(module) - len(start.split("::"))]

    for start, group in GROUP.findall(text):
        names = re.sub(r"\{[^{}]*\}", "", re.sub(r"\{[^{}]*\}", "", group))
        found.update(base_of(start)[:1] or (name.strip().split("::")[0] for name in names.split(",")))
    for start, rest in PATH.findall(text):
        base = base_of(start)
        full = base + [name for name in rest.split("::") if name and name != "{"]
        if full:
            found.add(full[0])
    return found


def dependencies(source: Path) -> dict[str, set[str]]:
    """Return the dependencies between top-level folders and files of a crate, without tests."""
    files = [path for path in source.rglob("*.rs") if path.name not in ("lib.rs", "tests.rs", "testing.rs")]
    modules = {
        path: module_of(path, source) for path in files if "tests" not in path.relative_to(source).parts
    }
    tops = {module[0] for module in modules.values()}
    graph: dict[str, set[str]] = {top: set() for top in tops}
    root = source / "lib.rs"
    aliases = reexports(root) if root.exists() else {}
    for path, module in modules.items():
        text = code(path)
        used = {aliases.get(name, name) for name in targets(text, module)}
        graph[module[0]] |= (used & tops) - {module[0]}
    return {top: used for top, used in graph.items() if not top.endswith("_tests")}


def code(path: Path) -> str:
    """Return the code of a module without comments and tests."""
    return TESTS.sub("", re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.MULTILINE))


def below(graph: dict[str, set[str]], top: str) -> set[str]:
    """Return a module and all that it depends on."""
    found = {top}
    for used in graph[top]:
        found |= below(graph, used)
    return found


def methods_from_above(source: Path) -> dict[str, set[str]]:
    """Return for each top-level module the methods that it calls and that only modules above it define.

    A type may have methods in several modules, and a call of one is no import.
    """
    graph = dependencies(source)
    texts = {top: "" for top in graph}
    for path in source.rglob("*.rs"):
        module = module_of(path, source)
        if module and module[0] in texts and path.name not in ("tests.rs", "testing.rs"):
            texts[module[0]] += code(path)
    result = {}
    for top, text in texts.items():
        own = below(graph, top)
        known = {name for one in own for name in FUNCTION.findall(texts[one])}
        above = {name for one in texts if one not in own for name in METHOD.findall(texts[one])}
        result[top] = set(CALL.findall(text)) & above - known
    return result


@pytest.mark.parametrize("name", FOLDERS)
def test_folders_of_a_crate_have_no_import_cycle(name: str) -> None:
    graph = dependencies(ROOT / "rust" / name / "src")
    assert len(graph) > 3
    for members in CYCLES.get(name, {}):
        # A cycle that no longer exists must be removed from the list.
        assert cycle({member: graph[member] & members for member in members})
        for member in members:
            graph[member] -= members
    assert cycle(graph) == []


def test_rooms_of_tensors_call_no_method_that_a_room_above_defines() -> None:
    found = methods_from_above(ROOT / "rust" / "tensor" / "src")
    assert {top: called for top, called in found.items() if called} == {}


def test_method_from_above_is_found(tmp_path: Path) -> None:
    (tmp_path / "low.rs").write_text("pub struct Tensor;\nfn copy(a: &Tensor) {\n    a.reshape(&[2]);\n}\n")
    (tmp_path / "high.rs").write_text(
        "use crate::low::Tensor;\nimpl Tensor {\n    pub fn reshape(&self) {}\n}\n"
    )
    assert methods_from_above(tmp_path) == {"low": {"reshape"}, "high": set()}


def test_import_cycle_is_found(tmp_path: Path) -> None:
    sources = {
        "lib.rs": "pub use high::{Other, Thing};",
        "low.rs": "use super::{Error, end};\nuse crate::Thing;",
        "high/mod.rs": "mod part;\nuse crate::middle;",
        "high/part.rs": "use super::super::low;\nuse super::{end, part};",
        "end.rs": "",
        "middle.rs": "#[cfg(test)]\nmod tests {\n    use crate::high;\n}\n",
    }
    for name, text in sources.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    graph = dependencies(tmp_path)
    assert graph == {"low": {"high", "end"}, "high": {"low", "middle"}, "middle": set(), "end": set()}
    assert sorted(set(cycle(graph))) == ["high", "low"]


MANIFESTS = [*ROOT.glob("rust/*/Cargo.toml"), *ROOT.glob("tests/*/Cargo.toml")]
JOINED = [path for path in MANIFESTS if "autotests = false" in path.read_text()]
assert JOINED


def files_left_out(manifest: Path) -> set[str]:
    """Return the files in `tests` of a crate that no program of tests includes."""
    folder = manifest.parent / "tests"
    roots = [manifest.parent / each["path"] for each in tomllib.loads(manifest.read_text())["test"]]
    included = {name for root in roots for name in re.findall(r"^mod (\w+);", root.read_text(), re.MULTILINE)}
    return {path.stem for path in folder.glob("*.rs")} - included - {root.stem for root in roots}


@pytest.mark.parametrize("manifest", JOINED, ids=lambda path: path.parent.name)
def test_every_file_of_tests_is_in_a_program(manifest: Path) -> None:
    assert files_left_out(manifest) == set()


def test_file_that_no_program_includes_is_found(tmp_path: Path) -> None:
    (tmp_path / "Cargo.toml").write_text('[[test]]\nname = "all"\npath = "tests/main.rs"\n')
    (tmp_path / "tests").mkdir()
    for name in ("main", "first", "second"):
        (tmp_path / "tests" / f"{name}.rs").write_text("mod first;\n")
    assert files_left_out(tmp_path / "Cargo.toml") == {"second"}
