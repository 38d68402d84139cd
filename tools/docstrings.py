"""Put the docstrings of the extension module into its stubs, where editors show them.

The docstrings are written once, in Rust. `documented` replaces those of a stub with those of the module.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator

INDENT = "    "

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def documented(stub: str, module: object) -> str:
    """Return the text of a stub with the docstrings of a module.

    Of overloads, only the first gets the docstring. A definition that the module lacks, such as a protocol or
    a type alias, and a special method keep their bodies.
    """
    lines = stub.splitlines()
    # From the last to the first, so that the lines before an edit keep their numbers.
    for node, value in sorted(_definitions(ast.parse(stub), module), key=lambda found: -found[0].lineno):
        docstring = _docstring(value)
        if docstring is not None:
            _replace_body(lines, node, docstring)
    return "".join(f"{line}\n" for line in lines)


def _definitions(tree: ast.Module | ast.ClassDef, owner: object) -> Iterator[tuple[Definition, object]]:
    """Yield the public definitions of a stub that the module has, with their values."""
    seen = set()
    for node in tree.body:
        if not isinstance(node, Definition) or node.name.startswith("_") or node.name in seen:
            continue
        value = inspect.getattr_static(owner, node.name, None)
        if value is None:
            continue
        # The second definition of a name is a setter or an overload.
        seen.add(node.name)
        yield node, value
        if isinstance(node, ast.ClassDef):
            yield from _definitions(node, value)


def _docstring(value: object) -> str | None:
    """Return the docstring of a value itself, not of its base class."""
    if isinstance(value, staticmethod | classmethod):
        value = value.__func__
    text = getattr(value, "__doc__", None)
    return inspect.cleandoc(text) if isinstance(text, str) else None


def _replace_body(lines: list[str], node: Definition, docstring: str) -> None:
    """Replace the docstring or the `...` of a definition, or put a docstring before its body."""
    first = node.body[0]
    indent = " " * node.col_offset + INDENT
    quoted = textwrap.indent(_quoted(docstring), indent).splitlines()
    is_placeholder = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    if not is_placeholder:
        # The line of a decorated definition is the one behind its decorators.
        begin = min(each.lineno for each in (first, *getattr(first, "decorator_list", ()))) - 1
        lines[begin:begin] = quoted
        return
    begin, end = first.lineno - 1, first.end_lineno
    before = lines[begin][: first.col_offset].rstrip()
    lines[begin:end] = [*([before] if before else []), *quoted]


def _quoted(docstring: str) -> str:
    """Return a docstring as a literal."""
    text = docstring.replace("\\", "\\\\").replace('"""', r"\"\"\"")
    return f'"""{text}\n"""' if "\n" in text else f'"""{text}"""'
