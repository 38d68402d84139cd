"""The table of operations, from which the stub and the names of the package are made.

Each operation is declared once, in Rust. `interlock._core.tensor._operations` returns the rows.
"""

import ast
import re
from collections.abc import Iterator

from interlock._core import tensor

ROWS = tensor._operations()


def with_sizes(signature: str) -> list[str]:
    """Return the signatures of a function that accepts sizes as one or more arguments, or by name."""
    separate = re.compile(r"\*args: (SupportsIndex \| _Sizes), (\w+): _Sizes \| None = None")
    if not separate.search(signature):
        return [signature]
    return [
        separate.sub(r"first_\2: \1, /, *args: SupportsIndex", signature),
        separate.sub(r"*, \2: _Sizes", signature),
    ]


def signatures(row: dict[str, str], form: str) -> list[ast.FunctionDef]:
    """Return the signatures of a function or method, of which there are several if it is overloaded."""
    result = row["result"].format(row["name"])
    is_method = form in ("method", "inplace")
    lines = (
        row["method_signature"] if is_method and row["method_signature"] else row["signature"]
    ).splitlines()
    texts = [line if " -> " in line else f"{line} -> {result}" for each in lines for line in with_sizes(each)]
    found = []
    for text in texts:
        (definition,) = ast.parse(f"def {row['name']}{text}: ...").body
        assert isinstance(definition, ast.FunctionDef)
        if is_method and not row["method_signature"]:
            (definition.args.posonlyargs or definition.args.args)[0] = ast.arg("self")
        found.append(definition)
    return found


# The named tuples of three tensors.
TRIPLES = [f"_return_types.linalg_{name}" for name in ("lu", "lu_factor_ex", "svd")]


def out_annotation(definition: ast.FunctionDef) -> str | None:
    """Return the annotation of `out` for a result, or None for a tuple of tensors, which has no `out`."""
    assert definition.returns is not None
    result = ast.unparse(definition.returns)
    if result in TRIPLES:
        return "tuple[Tensor, Tensor, Tensor] | list[Tensor] | None"
    if result.startswith("_return_types"):
        return "tuple[Tensor, Tensor] | list[Tensor] | None"
    return None if result.startswith("tuple") else "Tensor | None"


def overloaded(definitions: list[ast.FunctionDef]) -> Iterator[ast.FunctionDef]:
    """Yield definitions, with the decorator for overloads if there are several."""
    for definition in definitions:
        if len(definitions) > 1:
            definition.decorator_list = [ast.Name("overload")]
        yield definition


def functions(row: dict[str, str]) -> Iterator[ast.stmt]:
    """Yield the definitions of the functions of an operation."""
    forms = row["forms"].split()
    if "function" in forms:
        definitions = signatures(row, "function")
        for definition in definitions:
            if "out" in forms and (annotation := out_annotation(definition)):
                definition.args.kwonlyargs.append(ast.arg("out", ast.parse(annotation, mode="eval").body))
                definition.args.kw_defaults.append(ast.Constant(None))
        yield from overloaded(definitions)
        yield from aliases(row, "")
    if "inplace_function" in forms:
        for definition in signatures(row, "function"):
            definition.name += "_"
            yield definition
        yield from aliases(row, "_")


def methods(row: dict[str, str]) -> Iterator[ast.stmt]:
    """Yield the definitions of the methods of an operation."""
    for form, suffix in (("method", ""), ("inplace", "_")):
        if form in row["forms"].split():
            definitions = signatures(row, form)
            for definition in definitions:
                definition.name += suffix
            yield from overloaded(definitions)
            yield from aliases(row, suffix)


def aliases(row: dict[str, str], suffix: str) -> Iterator[ast.stmt]:
    """Yield the further names of a form of an operation."""
    for alias in row["aliases"].split():
        yield ast.Assign([ast.Name(alias + suffix)], ast.Name(row["name"] + suffix), lineno=0)


def stub_of_functions() -> Iterator[str]:
    """Yield the lines of the functions in the stub."""
    for row in ROWS:
        yield from map(ast.unparse, functions(row))


def stub_of_methods() -> Iterator[str]:
    """Yield the lines of the methods in the stub."""
    for row in ROWS:
        for definition in methods(row):
            yield from (f"    {line}" for line in ast.unparse(definition).splitlines())


def public_names(assignment: str) -> Iterator[str]:
    """Yield the lines that assign the public names of the extension module, or add them, to `__all__`."""
    yield f"__all__ {assignment} ["
    yield from (f'    "{name}",' for name in sorted(tensor.__all__))
    yield "]"
