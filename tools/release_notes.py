"""Write the changelog's entry of a version into `target/release-notes.md`, as the text of a release.

`release_notes.py TAG` prints one sentence and exits with 1 if the tag is not that of the version in
Cargo.toml, or if CHANGELOG.md has no entry of this version with a date.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOTES = ROOT / "target" / "release-notes.md"
# A version and its date, or another remark; then the lines up to the next entry.
ENTRY = re.compile(
    r"^## (?P<version>\S+) \((?P<date>[^)\n]*)\)\n+(?P<text>.*?)\s*(?=^## |\Z)", re.DOTALL | re.MULTILINE
)
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def notes(tag: str, version: str, changelog: str) -> str:
    """Return the text of the entry of `version`; raise ValueError if it cannot be released as `tag`."""
    if tag != f"v{version}":
        raise ValueError(f"the tag of version {version} in Cargo.toml is v{version}, not {tag}")
    entries = {entry["version"]: entry for entry in ENTRY.finditer(changelog)}
    if version not in entries:
        raise ValueError(f"CHANGELOG.md has no entry of {version}")
    entry = entries[version]
    if DATE.fullmatch(entry["date"]) is None:
        raise ValueError(f'CHANGELOG.md: the entry of {version} needs a date, not "{entry["date"]}"')
    return f"{entry['text']}\n"


def main(arguments: list[str]) -> int:
    """Write the notes, or print why there are none."""
    (tag,) = arguments
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]
    try:
        text = notes(
            tag, workspace["package"]["version"], (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
        )
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    NOTES.parent.mkdir(exist_ok=True)
    NOTES.write_text(text, encoding="utf-8")
    print(f"wrote {NOTES.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
