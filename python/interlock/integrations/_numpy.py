"""The settings of NumPy, from 1.26 on: those of `interlock.settings.enable("numpy")`.

NumPy has moved them: errors and the size of buffers are stored for each context since 2.0 and were for each
thread, options of printing are since 2.1 and were for the process. NumPy is never imported here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import itemgetter
from types import ModuleType
from typing import Any

from interlock._quote import shown
from interlock.errors import SettingValueError
from interlock.integrations._conversions import boolean, non_negative, non_negative_number, one_of, text
from interlock.settings._libraries import wrap_writers
from interlock.settings._observer import Observer
from interlock.settings._reader import Getter
from interlock.settings._setting import Extent, Setting

IMPORTED = "numpy"
PACKAGES = ("numpy",)

_ERRORS = "numpy errors"
_PRINTING = "numpy printing"
# No argument of a call selects one setting of its family: those that change are recorded.
_BY_CHANGE = (object(),)
_SCOPE_NOTE = "The scopes of NumPy, {} and those that its own functions enter, are not recorded."


def install(observer: Observer) -> Iterable[Setting]:
    """Return the settings of the imported NumPy, and wrap the functions that write them."""
    numpy = sys.modules["numpy"]
    rows = [*_errors(numpy), *_printing(numpy), *_process(numpy)]
    for function, family in (("seterr", _ERRORS), ("seterrcall", _ERRORS), ("set_printoptions", _PRINTING)):
        observer.wrap(numpy, function, [row for row in rows if row.family == family])
    wrap_writers(observer, rows)
    # Modules of NumPy have references of their own, which other packages import, too.
    for name, module in list(sys.modules.items()):
        # The scope `errstate` of NumPy 1.26 calls those of its own module, too often to be recorded.
        if name.endswith("._ufunc_config") or not isinstance(module, ModuleType):
            continue
        if name.startswith(("numpy.core.", "numpy._core.")):
            for function in ("seterr", "seterrcall", "setbufsize", "set_printoptions"):
                if function in vars(module):
                    observer.replace_copies(module, function)
    return rows


def _core(numpy: ModuleType) -> Any:
    # Renamed in 2.0; the old name warns there.
    return vars(numpy).get("_core") or numpy.core


def _legacy(value: Any) -> str | bool:
    if value is not False and not isinstance(value, str):
        raise SettingValueError(f"must be False or a version of NumPy as a str, got {shown(value)}")
    return value


class _Objects:
    """Objects of the program that one setting had, by the names that are its values: so it can be put back.

    Args:
        name: Returns the name of an object.
        put_back: Writes an object, or None.

    """

    # The setting of a program that makes many functions must not keep all of them.
    _MOST = 8

    def __init__(self, name: Callable[[Any], str], put_back: Callable[[Any], object]) -> None:
        self._name = name
        self._put_back = put_back
        self._objects: dict[str, Any] = {}

    def name(self, found: Any) -> str | None:
        """Return the name of an object, and store the object."""
        if not found:
            return None
        name = self._name(found)
        self._objects.pop(name, None)
        self._objects[name] = found
        if len(self._objects) > self._MOST:
            del self._objects[next(iter(self._objects))]
        return name

    def known(self, value: Any) -> Any:
        """Accept None, and the names of objects that are stored."""
        if value is not None and value not in self._objects:
            raise SettingValueError(f"must be None or a name that it had in this process, got {shown(value)}")
        return value

    def restore(self, value: str | None) -> None:
        """Put None or a stored object back."""
        self._put_back(None if value is None else self._objects[value])


def _name_of(function: Any) -> str:
    """Return the name of a function, or of the class of an object."""
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def _errors(numpy: ModuleType) -> Iterator[Setting]:
    extent = Extent.CONTEXT if hasattr(_core(numpy).umath, "_extobj_contextvar") else Extent.THREAD
    note = _SCOPE_NOTE.format("numpy.errstate")
    # Since 2.0, one function returns all of them.
    stored = getattr(_core(numpy).umath, "_get_extobj_dict", None)
    for name, default, doc in (
        ("divide", "warn", "a division of a finite number by zero"),
        ("over", "warn", "a result that is too large"),
        ("under", "ignore", "a result that is too close to zero"),
        ("invalid", "warn", "an operation without a defined result, which gives NaN"),
    ):
        yield Setting(
            f"numpy.errstate.{name}",
            get=Getter(stored or numpy.geterr, partial(_error, name)),
            set=partial(_set_error, numpy, name),
            extent=extent,
            default=default,
            convert=one_of("ignore", "warn", "raise", "call", "print", "log"),
            family=_ERRORS,
            writer_arguments=_BY_CHANGE,
            doc=f"What happens at {doc}.",
            note=note,
        )
    # NumPy's function may be wrapped later.
    calls = _Objects(_name_of, lambda function: numpy.seterrcall(function))
    yield Setting(
        "numpy.errstate.call",
        get=Getter(stored, lambda found: calls.name(found["call"]))
        if stored
        else Getter(numpy.geterrcall, calls.name),
        convert=calls.known,
        restore=calls.restore,
        extent=extent,
        family=_ERRORS,
        writer_arguments=_BY_CHANGE,
        doc="The name of the function or the class of the log that `call` and `log` use.",
        note="Use numpy.errstate(call=...)",
    )
    yield Setting(
        "numpy.bufsize",
        get=Getter(stored, itemgetter("bufsize")) if stored else numpy.getbufsize,
        set=lambda value: numpy.setbufsize(value),
        extent=extent,
        default=8192,
        convert=non_negative,
        writers=("numpy.setbufsize",),
        doc="How many elements a ufunc converts at once.",
        note="The end of any numpy.errstate scope puts it back, too.",
    )


def _error(name: str, found: dict[str, Any]) -> str:
    return str(found[name])


def _set_error(numpy: ModuleType, name: str, value: str) -> None:
    numpy.seterr(**{name: value})


def _printing(numpy: ModuleType) -> Iterator[Setting]:
    extent = Extent.CONTEXT if hasattr(_core(numpy).arrayprint, "format_options") else Extent.PROCESS
    rows: tuple[tuple[str, Any, Callable[[Any], Any] | None, str], ...] = (
        ("precision", 8, non_negative, "How many digits of floats are printed."),
        ("threshold", 1000, non_negative_number, "Arrays with more elements are shortened."),
        ("edgeitems", 3, non_negative, "How many elements a shortened array shows at each end."),
        ("linewidth", 75, non_negative_number, "How many characters a line has."),
        (
            "suppress",
            False,
            boolean,
            "Whether small floats are printed as zero instead of with an exponent.",
        ),
        ("nanstr", "nan", text, "The text of NaN."),
        ("infstr", "inf", text, "The text of infinity."),
        ("sign", "-", one_of("-", "+", " "), "Which floats have a sign."),
        (
            "floatmode",
            "maxprec",
            one_of("fixed", "unique", "maxprec", "maxprec_equal"),
            "How `precision` counts.",
        ),
        ("legacy", False, _legacy, "The version of NumPy that arrays are printed as."),
    )
    known, stored = _options(numpy), partial(_options, numpy)
    note = _SCOPE_NOTE.format("numpy.printoptions") if extent == Extent.CONTEXT else ""
    for name, default, convert, doc in rows:
        if name not in known:
            continue
        yield Setting(
            f"numpy.printoptions.{name}",
            get=Getter(stored, partial(_option, name)),
            set=partial(_set_option, numpy, name),
            restore=partial(_put_option_back, numpy, name),
            extent=extent,
            default=default,
            convert=convert,
            family=_PRINTING,
            writer_arguments=_BY_CHANGE,
            doc=doc,
            note=f"'1.13' also sets the sign to '-'. {note}".rstrip() if name == "legacy" else note,
        )
    for name, name_of, doc in (
        ("formatter", _names_of_types, "For which types a function of the program prints elements."),
        ("override_repr", _name_of, "The name of the function that prints arrays."),
    ):
        if name not in known:
            continue
        objects = _Objects(name_of, partial(_put_option_back, numpy, name))
        yield Setting(
            f"numpy.printoptions.{name}",
            get=Getter(stored, partial(_named_option, name, objects)),
            convert=objects.known,
            restore=objects.restore,
            extent=extent,
            family=_PRINTING,
            writer_arguments=_BY_CHANGE,
            doc=doc,
            note="Use numpy.printoptions()",
        )


def _names_of_types(formatter: dict[str, Any]) -> str:
    return ", ".join(sorted(formatter))


def _options(numpy: ModuleType) -> dict[str, Any]:
    """Return a copy of the options, also of the dict of functions, which the program may change in place."""
    found: dict[str, Any]
    try:
        found = numpy.get_printoptions()
    except KeyError:
        # NumPy stores a version for `legacy` that it does not know, with a warning, and cannot read it.
        module = _core(numpy).arrayprint
        stored = module.format_options.get() if hasattr(module, "format_options") else module._format_options
        found = dict(stored)
    if found.get("formatter"):
        found["formatter"] = dict(found["formatter"])
    return found


def _option(name: str, options: dict[str, Any]) -> Any:
    found = options[name]
    # A program may have assigned a NumPy scalar.
    return found.item() if hasattr(found, "item") else found


def _named_option(name: str, objects: _Objects, options: dict[str, Any]) -> str | None:
    return objects.name(options[name])


def _set_option(numpy: ModuleType, name: str, value: Any) -> None:
    before = _options(numpy)[name]
    _put_option_back(numpy, name, value)
    try:
        is_set = name != "legacy" or numpy.get_printoptions()[name] == value
    except KeyError:
        is_set = False
    if not is_set:
        _put_option_back(numpy, name, before)
        raise ValueError("this version of NumPy does not know the value")


def _put_option_back(numpy: ModuleType, name: str, value: Any) -> None:
    """Write one option, also a version for `legacy` that this NumPy does not know."""
    options = _options(numpy)
    # Each call resets these two unless it passes them.
    functions = {each: options[each] for each in ("formatter", "override_repr") if each in options}
    numpy.set_printoptions(**functions | {name: value})


def _process(numpy: ModuleType) -> Iterator[Setting]:
    multiarray = _core(numpy).multiarray
    if hasattr(numpy, "_set_promotion_state"):
        # Removed in 2.2. Version 2.1 stores it for each thread.
        version = tuple(int(part) for part in numpy.__version__.split(".")[:2])
        yield Setting(
            "numpy.promotion_state",
            get=numpy._get_promotion_state,
            set=lambda value: numpy._set_promotion_state(value),
            extent=Extent.PROCESS if version < (2, 1) else Extent.THREAD,
            default="legacy" if version < (2, 0) else "weak",
            convert=one_of("legacy", "weak", "weak_and_warn"),
            writers=("numpy._set_promotion_state",),
            doc="Whether the dtype of a result depends on the values of scalars.",
        )
    if hasattr(multiarray, "_set_madvise_hugepage"):
        yield Setting(
            "numpy.madvise_hugepage",
            get=lambda: bool(multiarray._get_madvise_hugepage()),
            set=multiarray._set_madvise_hugepage,
            convert=boolean,
            doc="Whether large arrays ask the kernel for huge pages.",
            note="The default is False on kernels before 4.6.",
        )
    if hasattr(multiarray, "get_handler_name"):
        yield Setting(
            "numpy.memory_handler",
            get=multiarray.get_handler_name,
            extent=Extent.CONTEXT,
            default="default_allocator",
            doc="What allocates the memory of arrays.",
            note="Code in C replaces it",
        )
