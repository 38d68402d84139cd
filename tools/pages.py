"""The pages of docs/ that are generated from tables: of the core, the stubs and the recorded names."""

import ast
import json
import pydoc
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import interlock
from example_calls import Example, examples, operands
from interlock import accelerator
from interlock._core import backends
from operation_examples import (
    IN_PLACE,
    MODULES,
    NOT_OPERATIONS,
    OPERATIONS,
    OPERATORS,
    PUBLIC_NAMES,
    SECTIONS,
)

if TYPE_CHECKING:
    from interlock._core.backends import Flag

ROOT = Path(__file__).resolve().parent.parent
STUBS = ROOT / "stubs" / "interlock" / "_core"
FLAGS = backends.table()


def owner(flag: "Flag") -> str:
    """Return the module or object that contains the flag, as a dotted name without `backends`."""
    return flag["name"].rpartition(".")[0]


def leaf(flag: "Flag") -> str:
    """Return the last part of the flag's name."""
    return flag["name"].rpartition(".")[2]


def sentence(text: str) -> str:
    """Return a documentation in one line."""
    return " ".join(text.split())


def table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the lines of a table. A bar in a cell is escaped."""
    columns = list(columns)
    yield ""
    yield f"| {' | '.join(columns)} |"
    yield f"| {' | '.join('---' for _ in columns)} |"
    for row in rows:
        cells = (cell.replace("|", r"\|") for cell in row)
        yield f"| {' | '.join(cells)} |"


# Flags ------------------------------------------------------------------------------------------------------

TORCH = "https://docs.pytorch.org/docs/stable"
TF32 = f"{TORCH}/notes/cuda.html#tf32-on-ampere"
# The modules whose section of PyTorch's page has an anchor.
TORCH_MODULES = ("cuda", "cudnn", "mha", "miopen", "mkldnn", "nnpack", "opt_einsum", "quantized", "xnnpack")
# The attributes of `torch.backends` that PyTorch's page describes.
TORCH_ATTRIBUTES = (
    "cuda.matmul.allow_bf16_reduced_precision_reduction",
    "cuda.matmul.allow_fp16_reduced_precision_reduction",
    "cuda.matmul.allow_tf32",
    "cudnn.allow_tf32",
    "cudnn.benchmark",
    "cudnn.benchmark_limit",
    "cudnn.deterministic",
    "cudnn.enabled",
    "miopen.immediate",
    "opt_einsum.enabled",
    "opt_einsum.strategy",
)
# The functions of `torch.backends` that set a flag.
TORCH_FUNCTIONS = {
    "cuda.blas_library": "cuda.preferred_blas_library",
    "cuda.cublas_workspace": "cuda.cublas_workspace_size",
    "cuda.cublaslt_workspace": "cuda.cublaslt_workspace_size",
    "cuda.cudnn_sdp": "cuda.enable_cudnn_sdp",
    "cuda.flash_sdp": "cuda.enable_flash_sdp",
    "cuda.fp16_bf16_reduction_math_sdp": "cuda.allow_fp16_bf16_reduction_math_sdp",
    "cuda.linalg_library": "cuda.preferred_linalg_library",
    "cuda.math_sdp": "cuda.enable_math_sdp",
    "cuda.mem_efficient_sdp": "cuda.enable_mem_efficient_sdp",
    "cuda.rocm_fa_library": "cuda.preferred_rocm_fa_library",
    "mha.fastpath": "mha.set_fastpath_enabled",
    "nnpack.enabled": "nnpack.set_flags",
}


def torch_page(name: str) -> str:
    """Return the address of PyTorch's documentation of a flag, or of its module."""
    page = f"{TORCH}/backends.html"
    if name.startswith("deterministic_algorithms"):
        return f"{TORCH}/generated/torch.use_deterministic_algorithms.html"
    if name == "deterministic_fill_uninitialized_memory":
        return f"{TORCH}/deterministic.html"
    if name.endswith("fp32_precision"):
        return f"{TORCH}/notes/mkldnn.html" if name.startswith("mkldnn") else TF32
    if name == "cuda.sdp_priority":
        return f"{TORCH}/generated/torch.nn.attention.sdpa_kernel.html"
    name = name.removesuffix("_split_k")
    name = name if name in TORCH_ATTRIBUTES else TORCH_FUNCTIONS.get(name, "")
    return f"{page}#torch.backends.{name}" if name else page


def flags() -> Iterator[str]:
    """Yield the page that lists every flag."""
    yield from """# Flags

The names are relative to `interlock.backends` and link to PyTorch's documentation. `python -m interlock
explain NAME` shows the value of a flag and what set it, and [Flags and scopes](flags_and_scopes.md)
explains how to set one.

- The variables are read once, when `interlock` is imported. If several variables of a flag are
  set, the first one applies. [Environment variables](environment.md) lists their formats.
- *Obeyed by* names the operations of interlock's tensors that a flag changes. "Nothing yet" means that
  the flag can be set, scoped and read, for example by a library that implements the operation, but
  changes no tensor of interlock. "Registered kernels" means that interlock has no kernel of the library;
  [a kernel that a program registers](dispatch.md#register-a-kernel) can require a value of the flag.
- In tests, `backends.override` and `unittest.mock.patch.object` restore a flag completely. pytest's
  `monkeypatch` assigns the old value, so the flag stays assigned.

Generated from the table of flags by `make generate`.""".splitlines()
    for module in dict.fromkeys(owner(flag).partition(".")[0] for flag in FLAGS):
        yield ""
        yield f"## `{'.'.join(filter(None, ('backends', module)))}`"
        if not module:
            yield ""
            yield "`interlock.set_float32_matmul_precision` is an older interface: `highest`, `high` and"
            yield "`medium` assign `ieee`, `tf32` and `tf32` to `cuda.matmul.fp32_precision`, and `ieee`,"
            yield "`tf32` and `bf16` to `mkldnn.matmul.fp32_precision`."
        elif module in TORCH_MODULES:
            address = f"{TORCH}/backends.html#module-torch.backends.{module}"
            yield ""
            yield f"PyTorch: [`torch.backends.{module}`]({address})"
        rows = map(flag_row, (flag for flag in FLAGS if owner(flag).partition(".")[0] == module))
        yield from table(("flag", "values", "default", "environment variable", "obeyed by"), rows)


def flag_row(flag: "Flag") -> tuple[str, ...]:
    """Return the row of a flag."""
    return (
        f"[`{flag['name']}`]({torch_page(flag['name'])})<br>{sentence(flag['doc'])} For {flag['affects']}.",
        flag["allowed"] or "read-only",
        f"`{flag['default']!r}`",
        "<br>".join(f"`{name}`" for name in flag["variables"]) or "none",
        ", ".join(f"`{name}`" for name in flag["obeyed_by"]) or obeyed_later(flag),
    )


def obeyed_later(flag: "Flag") -> str:
    """Return what may obey a flag that no operation of interlock obeys."""
    return "registered kernels" if flag["needs_registered_kernel"] else "nothing yet"


# Environment variables --------------------------------------------------------------------------------------


def environment() -> Iterator[str]:
    """Yield the page that lists every environment variable."""
    described = json.loads((ROOT / "docs" / "environment.json").read_text())
    flag_of = {flag["variables"][0]: flag for flag in FLAGS if flag["variables"]}
    # The variable of the loader has another name on macOS.
    read = {name.replace("DYLD_", "LD_") for name in backends.environment_variables()}
    paths = sorted(read - flag_of.keys() - {entry["name"] for entry in described})
    unknown = [name for name in paths if not re.fullmatch("INTERLOCK_[A-Z]+_PATH", name)]
    if unknown:
        raise SystemExit(f"docs/environment.json does not describe {', '.join(unknown)}")
    yield from """# Environment variables

Every variable that interlock reads. `python -m interlock` prints those that are set, each with the reason
if it is ignored, except those of the command line and most of the launcher's. A variable that begins with
`INTERLOCK_` and has a typo in its name issues a `FlagEnvironmentWarning` on import, which suggests the
correct name. An empty value is invalid for flags and for `INTERLOCK_DEBUG`; other variables of interlock
count as not set if they are empty.

Flags of other libraries have [variables of their own](registering.md#environment).

Generated by `make generate` from the tables of the core and `docs/environment.json`.""".splitlines()
    for group in dict.fromkeys(entry["group"] for entry in described):
        yield ""
        yield f"## {group}"
        entries = [entry for entry in described if entry["group"] == group]
        if "read" in entries[0]:
            columns = ("variable", "values", "default", "read", "invalid value")
            yield from table(columns, map(variable_row, entries))
            continue
        yield ""
        yield "They are read when `interlock` is imported. The variable of interlock for the same"
        yield "flag has precedence. An invalid value issues `FlagEnvironmentWarning` and is ignored."
        yield from table(
            ("variable", "effect", "values"),
            ((f"`{entry['name']}`", entry["meaning"], entry["values"]) for entry in entries),
        )
    yield from """
## Paths of vendor libraries

The value is the path of the library, or of a folder that contains it. It is read on each
[search](libraries.md#search-order). The path is authoritative: if it is invalid, a call that needs the
library raises `LibraryPathError`, and interlock searches no other folder.
""".splitlines()
    yield from table(
        ("variable", "library"),
        ((f"`{name}`", f"`{name[len('INTERLOCK_') : -len('_PATH')].lower()}`") for name in paths),
    )
    yield from """
## Flags of interlock

They are read once, when `interlock` is imported. An invalid value issues
`FlagEnvironmentWarning`, which states the accepted values, and is ignored. A value that the program
assigns, and a scope, have precedence.
""".splitlines()
    yield from table(
        ("variable", "flag", "values", "default"),
        (
            (
                f"`{name}`",
                f"[`{flag['name']}`](flags.md)",
                (flag["allowed_text"] or "").replace("'", "`"),
                f"`{flag['default']!r}`",
            )
            for name, flag in flag_of.items()
        ),
    )


def variable_row(entry: dict[str, str]) -> tuple[str, ...]:
    """Return the row of a variable that sets no flag."""
    return (
        f"`{entry['name']}`<br>{entry['meaning']}",
        entry["values"],
        entry["default"],
        entry["read"],
        entry["invalid"],
    )


# Tensor operations ------------------------------------------------------------------------------------------

FLOATS = ("float16", "bfloat16", "float32", "float64")
DTYPES = (*FLOATS, "int64", "int32", "int16", "int8", "uint8", "bool")
# The text of frequent groups of dtypes.
DTYPE_GROUPS = {DTYPES: "all", DTYPES[:-1]: "all but bool", FLOATS: "floating point"}


# A function that runs an example with the operands.
Run = Callable[[dict[str, Any]], Any]


def tensor_operations(stub: str) -> Iterator[str]:
    """Yield the page that lists the operations of tensors, whose stub has this text."""
    sections = examples_by_section()
    signatures = stub_signatures(stub, {name for section in sections.values() for name in section})
    shown = {each for section in sections.values() for name in section for each in (name, f"{name}_")}
    missing = sorted(signatures.keys() - shown - {*NOT_OPERATIONS})
    if missing:
        raise SystemExit(f"tools/operation_examples.py has no example of the operations {', '.join(missing)}")
    accelerator.use("host")
    yield from """# Tensor operations

Every operation that creates, computes or copies tensors, with its dtypes. `make generate` runs each
operation with tensors of each dtype, with and without gradients, on the CPU and on a device of the host
driver, and writes the results here.

- **operation**: its methods and functions. A form that ends in an underscore changes the tensor, which must
  be able to hold the result.
- **dtypes**: those for which the operation does not raise. Operands of two dtypes are promoted as in
  PyTorch.
- **gradient**: whether the operation is recorded for `backward`.
- **device**: *queued* means that the call returns before the device has run the operation; *waits* that it
  waits for the device, and so raises `GraphError` during a capture; *no work* that it returns a view or the
  tensor itself, if no copy is needed. A driver whose memory the CPU cannot access, such as `cuda`, supports
  only `empty`, `to`, `cpu` and `copy_` yet.

Functions are in the module that the title of a section names, else in `interlock`, if they have no other
module in front of their name.

The arguments `dim` and `keepdim` have second names, those of NumPy: `axis` and `keepdims`; type checkers
know only the first names. The operations are those that small networks and tests of flags and modes need: no
pooling, no optimizers, few layers.
[Tensors](tensors.md) explains devices, streams and gradients; docstrings document the
arguments.""".splitlines()
    for title, runs in sections.items():
        yield ""
        yield f"## {title}"
        columns = ("operation", "dtypes", "gradient", "device")
        module = title.partition("`")[2].rstrip("`") or "interlock"
        yield from table(columns, (operation_row(signatures, module, *each) for each in runs.items()))


def examples_by_section() -> dict[str, dict[str, Run]]:
    """Return an example of each operation, by its name, in sections."""
    sections: dict[str, dict[str, Run]] = {title: {} for title in SECTIONS}
    for example in examples():
        sections[section_of(example)].setdefault(example.name, example.function())
    for title, texts in OPERATIONS.items():
        for name, text in texts.items():
            sections[title][name] = expression(text)
    return sections


def section_of(example: Example) -> str:
    """Return the title of the section of an operation."""
    matches = (title for title, prefixes in SECTIONS.items() if example.family.startswith(prefixes))
    return next(matches)


def expression(text: str) -> Run:
    """Return a function that evaluates an expression."""
    return lambda names: eval(text, names)


def operation_row(signatures: dict[str, str], module: str, name: str, run: Run) -> tuple[str, ...]:
    """Return the row of an operation of the section of a module: what its example does."""
    operator = f"`{OPERATORS[name]}`" if name in OPERATORS else ""
    inplace = signatures.get(f"{name}_", "") if not name.endswith("_") else ""
    forms = "<br>".join(filter(None, (signatures.get(name, ""), operator, inplace)))
    forms = "<br>".join(public_form(form, module) for form in forms.split("<br>"))
    return forms, dtypes_of(run), "yes" if is_recorded(run) else "no", device_of(run) or "no"


def public_form(form: str, module: str) -> str:
    """Return a form of an operation with its public name, in full unless it is in this module."""
    match = re.match(r"`(x\.)?(\w+)\b", form)
    if match is None or match[2] == "x":
        return form
    name = match[2]
    modules = ("interlock.Tensor",) if match[1] else (module, *MODULES)
    paths = [PUBLIC_NAMES[name]] if name in PUBLIC_NAMES else [f"{each}.{name}" for each in modules]
    path = next((path for path in paths if pydoc.locate(path) is not None), None)
    if path is None:
        raise SystemExit(f"no module of interlock has the operation {form}")
    if isinstance(pydoc.locate(path), type):
        return f"`{path}`"
    return form if path in (f"{module}.{name}", f"interlock.Tensor.{name}") else form.replace(name, path, 1)


def stub_signatures(stub: str, shown: set[str]) -> dict[str, str]:
    """Return the forms of each operation: functions of interlock, and methods and operators of a tensor."""
    tree = ast.parse(stub)
    (tensor,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Tensor")
    forms: dict[str, list[str]] = {}
    for prefix, body in (("x.", tensor.body), ("", tree.body)):
        for node in body:
            if not isinstance(node, ast.FunctionDef) or not (node.name in shown or returns_tensor(node)):
                continue
            if is_by_name(node):
                continue
            form = f"`{prefix}{node.name}{arguments_of(node)}`"
            if node.name in ("__getitem__", "__setitem__"):
                form = "`x[index]`" if node.name == "__getitem__" else "`x[index] = value`"
            elif node.name in IN_PLACE:
                form += f"<br>`x {IN_PLACE[node.name]} y`"
            if form not in forms.setdefault(node.name, []):
                forms[node.name].append(form)
    return {name: "<br>".join(each) for name, each in forms.items()}


def returns_tensor(node: ast.FunctionDef) -> bool:
    """Return whether a public definition of the stub returns tensors."""
    is_public = not node.name.startswith("_") and node.returns is not None
    return is_public and "Tensor" in ast.unparse(node.returns or ast.Constant(None))


def is_by_name(node: ast.FunctionDef) -> bool:
    """Return whether this overload requires sizes or a number by name, which another accepts by position."""
    first = node.args.kwonlyargs[0].annotation if node.args.kw_defaults[:1] == [None] else None
    return first is not None and ast.unparse(first) in ("_Sizes", "_Dims", "_Number", "SupportsIndex")


def arguments_of(node: ast.FunctionDef) -> str:
    """Return the arguments of a definition without annotations; empty for a property."""
    if any(isinstance(each, ast.Name) and each.id == "property" for each in node.decorator_list):
        return ""
    arguments = node.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        argument.annotation = None
    if arguments.vararg is not None:
        arguments.vararg.annotation = None
        if arguments.vararg.arg == "args" and arguments.posonlyargs:
            # The first of the sizes is an argument of its own.
            arguments.vararg.arg = arguments.posonlyargs.pop().arg.removeprefix("first_")
            arguments.posonlyargs = []
    arguments.args = [argument for argument in arguments.args if argument.arg != "self"]
    return f"({ast.unparse(arguments)})"


def dtypes_of(run: Run) -> str:
    """Return the dtypes for which an example does not raise."""
    found = tuple(dtype for dtype in DTYPES if succeeds(run, operands(getattr(interlock, dtype))))
    return DTYPE_GROUPS.get(found, ", ".join(found))


def is_recorded(run: Run) -> bool:
    """Return whether the result of an example with operands that require grad requires grad."""
    names = operands(interlock.float32, requires_grad=True)
    if not succeeds(run, names):
        return False
    results = run(names)
    results = results if isinstance(results, tuple) else (results,)
    return any(getattr(result, "requires_grad", False) for result in results)


def device_of(run: Run) -> str | None:
    """Return what an example does on a device; None if it raises there."""
    dtypes = (interlock.float32, interlock.int64)
    candidates = (operands(dtype, "host:0") for dtype in dtypes)
    names = next((names for names in candidates if succeeds(run, names)), None)
    if names is None:
        return None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with interlock.no_grad(), interlock.Stream("host:0"), accelerator.Graph():
            is_queued = succeeds(run, names)
    # Capturing an example that queues nothing issues a warning about an empty graph.
    return ("no work" if caught else "queued") if is_queued else "waits"


def succeeds(run: Run, names: dict[str, Any]) -> bool:
    """Return whether an example does not raise."""
    try:
        run(names)
    except (interlock.errors.InterlockError, RuntimeError, TypeError, ValueError):
        return False
    return True


# Comparison with PyTorch ------------------------------------------------------------------------------------

NAMES = ROOT / "tests" / "conformance" / "api"


def differences() -> Iterator[str]:
    """Yield the page of intentional differences from PyTorch."""
    yield from """# Differences from PyTorch

Intentional differences from PyTorch, each with examples. A test runs the examples with interlock, and
`make compare` with `torch` in place of `interlock`: PyTorch 2.15 on the CPU gave its results. Results of
*PyTorch with a GPU* are compared where PyTorch finds one, with `cuda` in place of `host`; that has not been
done yet. Generated by `make generate`.

## Behaviour

Generated from `docs/differences.json`.""".splitlines()
    for difference in json.loads((ROOT / "docs" / "differences.json").read_text()):
        yield ""
        yield f"### {', '.join(f'`{name}`' for name in difference['names'])}"
        yield ""
        yield f"- PyTorch: {difference['pytorch']}"
        yield f"- interlock: {difference['interlock']}"
        yield f"- Reason: {difference['reason']}"
        for example in difference["examples"]:
            yield from shown_example(example)
    yield ""
    yield "## Recorded cases"
    yield ""
    yield "Cases of `tests/conformance`, generated from `tests/conformance/intentional_differences.json`."
    yield ""
    entries = json.loads((ROOT / "tests" / "conformance" / "intentional_differences.json").read_text())
    if not entries:
        yield "None."
    for entry in entries:
        yield f"- `{entry['id']}` ({entry['row']}): {entry['reason']}"


def shown_example(example: dict[str, Any]) -> Iterator[str]:
    """Yield an example of a difference, and its results."""
    yield ""
    yield "```python"
    yield from re.sub(r"\bT\.", "interlock.", "\n".join(example["steps"])).splitlines()
    yield "```"
    yield ""
    yield f"- interlock: {shown_result(example['interlock'])}"
    if "not_compared" in example:
        yield f"- PyTorch: not compared, because {example['not_compared']}."
    elif "pytorch_cuda" in example:
        yield f"- PyTorch with a GPU: {shown_result(example['pytorch_cuda'])}"
    else:
        yield f"- PyTorch: {shown_result(example['pytorch'])}"


def shown_result(result: str) -> str:
    """Return the result of an example, as tests/conformance/examples.py describes it, for the page."""
    if result.startswith("raises "):
        return f"raises `{result.removeprefix('raises ')}`."
    return "ends the process." if result == "ends the process" else f"`{result.replace('T.', 'interlock.')}`"


CHANGED_BEHAVIOUR = (
    (
        "the gradient of `clamp`, `clip`, `clamp_min` and `clamp_max` for an element that equals a number",
        "1",
        "0",
    ),
    (
        "their gradients for an element that equals a limit that is a tensor",
        "1 for the element, 0 for the limit",
        "1/2 for each; with two limits only if the lower one is less than the upper one, else 1 and 0",
    ),
    (
        "their gradients for NaN, if a limit is a tensor",
        "0",
        "1 for the element; with one limit also 1 for the limit",
    ),
    ("the gradients of `fmax` and `fmin` for equal elements", "1 for the first", "1/2 for each"),
    (
        "`scaled_dot_product_attention` with `attn_mask` and `is_causal=True`",
        "both are applied by some kernels, and an error of others",
        "RuntimeError, here `ArgumentError`",
    ),
    (
        "`clamp` and its variants of integers with a lower limit below the range of the dtype, or an "
        "upper one above it",
        "the limit wraps for uint8, and RuntimeError for other dtypes",
        "limits nothing",
    ),
    (
        "the same with a lower limit above the range, or an upper one below it",
        "RuntimeError, or the limit wraps for uint8",
        "RuntimeError, here `ArgumentError`",
    ),
    (
        "a number beyond the range of float16 or bfloat16 that is assigned to an index",
        "rounded to infinity",
        "RuntimeError, here `ArgumentError`; rounded if one element is selected without index tensors, or if "
        "there are several index tensors",
    ),
    (
        "`FunctionCtx.set_output_grad_dtype`, `input_grad_buffers`, `autograd.graph.node_creation_hook`, "
        "`queue_callback`, `checkpoint` without a function",
        "missing",
        "exist ([Hooks and functions](autograd.md))",
    ),
)


def compatibility() -> Iterator[str]:
    """Yield the page that compares each public name with PyTorch's."""
    recorded = json.loads((NAMES / "names.json").read_text())
    missing = set(json.loads((NAMES / "not_implemented.json").read_text()))
    entries = json.loads((NAMES / "intentional_differences.json").read_text())
    different = {entry["name"]: entry["reason"] for entry in entries}
    absent = json.loads((NAMES / "not_planned.json").read_text())
    present = set(recorded["names"]) - missing - different.keys()
    version = recorded["version"].partition("+")[0]
    yield "# Compatibility with torch"
    yield ""
    yield f"The public names of PyTorch {version} in the namespaces that interlock implements, and whether"
    yield "interlock has them. A test compares each name with a recording, and `make compare` the recording"
    yield "with PyTorch. [Differences](differences.md) lists differences in behaviour, and"
    yield "[Coming from torch](migrating.md) the replacements of other names. Generated by `make generate`."
    yield from table(
        ("", "names", "meaning"),
        (
            ("equal", str(len(present)), "the kind, the signature and the value are PyTorch's"),
            (
                "differs",
                str(len(different)),
                "the name exists, and its signature or value differs on purpose",
            ),
            ("missing", str(len(missing)), "the name does not exist yet"),
        ),
    )
    yield ""
    yield "## Differs"
    yield from table(
        ("name", "difference"), ((f"`torch.{name}`", reason) for name, reason in sorted(different.items()))
    )
    if missing:
        yield ""
        yield "## Missing"
        yield from by_module(missing)
    yield ""
    yield "## Equal"
    yield from by_module(present)
    yield ""
    yield "## Behaviour that PyTorch 2.15 has changed"
    yield ""
    yield "Operations and gradients follow PyTorch 2.15, where it differs from 2.13:"
    yield from table(("behaviour", "PyTorch 2.13", "PyTorch 2.15 and interlock"), CHANGED_BEHAVIOUR)
    yield ""
    yield "## Not planned"
    yield from table(("name", "reason"), ((f"`torch.{name}`", reason) for name, reason in absent.items()))
    yield from """
The operations of `torch`, `torch.nn` and `torch.utils` exist in part:
[Tensor operations](tensor_operations.md) lists what exists, also in `interlock.nn.functional`,
and the [roadmap](roadmap.md) what is planned.""".splitlines()


def by_module(names: set[str]) -> Iterator[str]:
    """Yield the names, in one paragraph for each module or class."""
    modules: dict[str, list[str]] = {}
    for name in sorted(names):
        modules.setdefault(name.rpartition(".")[0], []).append(name)
    for module, members in sorted(modules.items()):
        yield ""
        yield f"### `{'.'.join(filter(None, ('torch', module)))}`"
        yield ""
        yield ", ".join(f"`{name.rpartition('.')[2]}`" for name in members)
