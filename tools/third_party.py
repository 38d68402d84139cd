"""Write `LICENSE-THIRD-PARTY` and the SBOM: the crates that are compiled into the extension module.

The licence file contains the texts of their licences, the SBOM their versions, checksums and dependencies in
CycloneDX. Both are packed into the wheel, and contain no path of this machine. `--check` fails if one of them
is out of date.
"""

import json
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "interlock-extension"
LICENCES = ROOT / "LICENSE-THIRD-PARTY"
SBOM = ROOT / "rust" / "extension" / "sbom.cdx.json"
# The crates are the same on Linux for x86-64 and ARM, with glibc and with musl. A wheel for macOS contains
# sysctl, thiserror and byteorder, too, which both files lack.
PLATFORM = "x86_64-unknown-linux-gnu"
# `LICENSE`, `LICENSE-MIT`, `LICENSE.md`, `COPYING`, ...
LICENCE_FILE = re.compile(r"(LICEN[CS]E|COPYING|NOTICE|UNLICENSE)([-.].*)?", re.IGNORECASE)
# Crates without a licence file, with the crate of the same repository and author that has it.
TEXT_OF = {"pulp-wasm-simd-flag": "pulp"}
INTRODUCTION = """\
The extension module interlock._core contains the Rust crates below. Of a choice of licences, MIT is taken.

It also contains the standard library of Rust, https://github.com/rust-lang/rust, under MIT OR Apache-2.0; the
file COPYRIGHT-library.html of each Rust release lists the parts of others in it.
"""


@dataclass(frozen=True)
class Crate:
    """A crate that is compiled into the extension module."""

    name: str
    version: str
    licence: str
    repository: str
    folder: Path
    checksum: str | None
    """The SHA-256 of the file on crates.io; None for a crate of this repository."""

    @property
    def reference(self) -> str:
        """Return the package URL, which identifies the crate in the SBOM."""
        return f"pkg:cargo/{self.name}@{self.version}"

    def texts(self) -> dict[str, str]:
        """Return the licence files; of a choice, that of MIT."""
        found = {
            path.name: "\n".join(line.rstrip() for line in path.read_text(encoding="utf-8").splitlines())
            for path in sorted(self.folder.iterdir())
            if LICENCE_FILE.fullmatch(path.name)
        }
        return {name: text for name, text in found.items() if "MIT" in name} or found


def cargo(*arguments: str) -> str:
    """Run cargo and return its output."""
    command = ["cargo", *arguments, "--locked"]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def dependencies() -> dict[tuple[str, str], set[tuple[str, str]]]:
    """Return the direct dependencies of each compiled crate, by name and version."""
    printed = cargo(
        "tree", "--package", PACKAGE, "--edges", "normal,no-proc-macro", "--target", PLATFORM,
        "--prefix", "depth", "--no-dedupe", "--format", " {p}",
    )  # fmt: skip
    result: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
    above: list[tuple[str, str]] = []
    for line in printed.splitlines():
        depth, name, version = line.split()[:3]
        del above[int(depth) :]
        crate = (name, version.removeprefix("v"))
        if above:
            result[above[-1]].add(crate)
        result[crate] |= set()
        above.append(crate)
    return result


def crates(wanted: set[tuple[str, str]]) -> dict[tuple[str, str], Crate]:
    """Return the crates with these names and versions."""
    metadata = cargo("metadata", "--format-version", "1", "--filter-platform", PLATFORM)
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    checksums = {(each["name"], each["version"]): each.get("checksum") for each in locked}
    return {
        key: Crate(
            *key,
            # The older form of `OR`.
            licence=each["license"].replace("/", " OR "),
            repository=each["repository"],
            folder=Path(each["manifest_path"]).parent,
            checksum=checksums[key],
        )
        for each in json.loads(metadata)["packages"]
        if (key := (each["name"], each["version"])) in wanted
    }


def licences(compiled: list[Crate]) -> str:
    """Return the content of the licence file: a list of the crates, and each different text once."""
    third_party = {crate.name: crate for crate in compiled if crate.checksum is not None}
    users: dict[str, list[str]] = defaultdict(list)
    for crate in third_party.values():
        texts = crate.texts() or third_party[TEXT_OF[crate.name]].texts()
        for name, text in texts.items():
            users[text].append(f"{crate.name} {crate.version}: {name}")
    listed = [
        f"{each.name} {each.version}: {each.licence}, {each.repository}" for each in third_party.values()
    ]
    rule = "-" * 100
    parts = ["\n".join([rule, *names, rule, "", text.strip(), ""]) for text, names in users.items()]
    return "\n".join([INTRODUCTION, *listed, "", *parts])


def component(crate: Crate) -> dict[str, object]:
    """Return the entry of a crate in the SBOM."""
    result: dict[str, object] = {
        "type": "library",
        "bom-ref": crate.reference,
        "name": crate.name,
        "version": crate.version,
        "licenses": [{"expression": crate.licence}],
        "purl": crate.reference,
    }
    if crate.checksum is None:
        # A crate of this repository is on no registry under this version.
        del result["purl"]
    else:
        result["hashes"] = [{"alg": "SHA-256", "content": crate.checksum}]
    return result


def sbom(found: dict[tuple[str, str], Crate], edges: dict[tuple[str, str], set[tuple[str, str]]]) -> str:
    """Return the SBOM, without the optional time and serial number, which would differ in each build."""
    (main,) = (crate for crate in found.values() if crate.name == PACKAGE)
    content = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": component(main)},
        "components": [component(each) for each in found.values() if each is not main],
        "dependencies": [
            {"ref": crate.reference, "dependsOn": sorted(found[each].reference for each in edges[key])}
            for key, crate in found.items()
        ],
    }
    return json.dumps(content, indent=1) + "\n"


def main(arguments: list[str]) -> int:
    """Write both files, or compare them."""
    edges = dependencies()
    found = dict(sorted(crates(set(edges)).items()))
    files = {LICENCES: licences(list(found.values())), SBOM: sbom(found, edges)}
    if arguments != ["--check"]:
        for path, text in files.items():
            path.write_text(text, encoding="utf-8")
        return 0
    stale = [
        path for path, text in files.items() if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    for path in stale:
        print(f"{path.relative_to(ROOT)} is out of date: run `make generate`", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
