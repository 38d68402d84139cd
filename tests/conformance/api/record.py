"""Print a description of each public name of a package as JSON, with any Python that has the package.

record.py PACKAGE NAMES.json
record.py --public PACKAGE NAMES.json

NAMES.json contains a list of dotted names below the package, or the output of this program. names.json
is created by `record.py torch names.json` with a Python that has PyTorch and opt_einsum, from which
PyTorch derives the values of `backends.opt_einsum`. With `--public`, the program prints a list of the public
names of the modules in NAMES.json instead.
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

Facts = dict[str, Any]


class Found(NamedTuple):
    """The object of a dotted name."""

    value: object
    """The value of the name; for a property, the property object of the class."""
    owner: object
    """The module, class or object from which the name was read."""


def find(package: str, name: str) -> Found:
    """Return the object of a dotted name; raise ImportError or AttributeError if there is none."""
    value: object = importlib.import_module(package)
    owner: object = None
    path = package
    for part in name.split("."):
        owner, path = value, f"{path}.{part}"
        if isinstance(owner, type):
            value = read_class(owner, part)
        elif isinstance(owner, ModuleType) and not hasattr(owner, part):
            value = importlib.import_module(path)
        else:
            value = getattr(owner, part)
    return Found(value, owner)


def read_class(owner: type, part: str) -> object:
    """Read a name of a class without evaluating properties, some of which have a value on the class, too."""
    members: dict[str, object] = getattr(owner, "__members__", {})
    if part in members:
        return members[part]
    held = inspect.getattr_static(owner, part)
    return held if is_property(held) else getattr(owner, part)


def is_property(held: object) -> bool:
    """Return whether an object is a property, of any property class."""
    return hasattr(type(held), "__get__") and not callable(held) and not isinstance(held, classmethod)


def is_member(value: object) -> bool:
    """Return whether a value is a member of an enumeration; those of PyTorch are no `enum.Enum`."""
    return hasattr(type(value), "__members__")


def is_plain(value: object) -> bool:
    """Return whether the repr of a value describes it completely."""
    if isinstance(value, list | tuple | set | frozenset):
        return all(is_plain(each) for each in value)
    return value is None or isinstance(value, bool | int | float | str) or type(value).__name__ == "dtype"


def kind_of(found: Found) -> str:
    """Return the kind of a name from the view of a caller."""
    value, owner = found
    if isinstance(value, ModuleType):
        return "module"
    if isinstance(value, type):
        return "class"
    if is_member(value) or is_plain(value):
        return "value"
    if isinstance(owner, type):
        return "method" if callable(value) else "property"
    return "function" if inspect.isroutine(value) else "object"


def text(value: Any, package: str) -> str:
    """Return a description of a value that is equal in every package and process."""
    if is_member(value):
        return f"{value.name} = {value.value!r}"
    if isinstance(value, set | frozenset):
        return "{" + ", ".join(sorted(text(each, package) for each in value)) + "}"
    return repr(value).replace(f"{package}.", "")


def parameters_of(found: Found, name: str, package: str) -> list[Facts] | None:
    """Return the parameters that a caller passes, or None if the signature is unknown."""
    if not callable(found.value):
        return None
    try:
        signature = inspect.signature(found.value)
    except (TypeError, ValueError):
        return None
    described = []
    for parameter in signature.parameters.values():
        facts: Facts = {"name": parameter.name, "kind": parameter.kind.name.lower()}
        if parameter.default is not parameter.empty:
            facts["default"] = text(parameter.default, package)
        described.append(facts)
    return described[1:] if takes_self(found, name) else described


def takes_self(found: Found, name: str) -> bool:
    """Return whether the first parameter is `self`."""
    if kind_of(found) != "method" or getattr(found.value, "__self__", None) is not None:
        return False
    return not isinstance(inspect.getattr_static(found.owner, name.rpartition(".")[2]), staticmethod)


def facts_of(package: str, name: str) -> Facts:
    """Return the facts of one name, or the error that reading it raises."""
    try:
        found = find(package, name)
        kind = kind_of(found)
        if kind == "module":
            importlib.import_module(f"{package}.{name}")
    except Exception as error:
        return {"error": type(error).__name__}
    if kind == "value":
        return {"kind": kind, "value": text(found.value, package)}
    if kind in ("class", "function", "method"):
        return {"kind": kind, "parameters": parameters_of(found, name, package)}
    return {"kind": kind}


def public_names(package: str, module: str) -> list[str]:
    """Return the public names that a module defines, without those that it imports from other modules."""
    path = f"{package}.{module}"
    # The functions of the extension module have its name.
    own = (path, f"{package}._C")
    found = []
    for name in dir(importlib.import_module(path)):
        value = getattr(importlib.import_module(path), name, None)
        source = getattr(value, "__name__" if isinstance(value, ModuleType) else "__module__", path)
        if str(source).startswith(own) and not name.startswith("_"):
            found.append(f"{module}.{name}")
    return found


def main(package: str, file: str, *, public: bool = False) -> None:
    listed = json.loads(Path(file).read_text())
    names = list(listed if isinstance(listed, list) else listed["names"])
    if public:
        modules = [name for name in names if facts_of(package, name) == {"kind": "module"}]
        print(json.dumps([name for module in modules for name in public_names(package, module)]))
        return
    lines = [f"  {json.dumps(name)}: {json.dumps(facts_of(package, name))}" for name in names]
    version = importlib.import_module(package).__version__
    made = {"package": package, "version": str(version)}
    print(json.dumps(made)[:-1] + ', "names": {\n' + ",\n".join(lines) + "\n}}")


if __name__ == "__main__":
    if sys.argv[1] == "--public":
        main(*sys.argv[2:], public=True)
    else:
        main(*sys.argv[1:])
