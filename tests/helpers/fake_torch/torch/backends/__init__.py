"""A fake of the modules of flags: properties with getters and setters on the class of a module."""

import contextlib
import sys
import types

from torch import _C


class ContextProp:
    def __init__(self, getter, setter):
        self.getter = getter
        self.setter = setter

    def __get__(self, obj, objtype):
        return self.getter()

    def __set__(self, obj, val):
        self.setter(val)


class PropModule(types.ModuleType):
    def __init__(self, m, name):
        super().__init__(name)
        self.m = m

    def __getattr__(self, attr):
        return getattr(self.m, attr)


class _FP32Precision:
    def __init__(self, *node):
        self.__dict__["node"] = node

    def __getattr__(self, name):
        return _C._get_fp32_precision_getter(*self.node)

    def __setattr__(self, name, value):
        _C._set_fp32_precision_setter(*self.node, value)


def _precision(*node):
    return ContextProp(
        lambda: _C._get_fp32_precision_getter(*node),
        lambda value: _C._set_fp32_precision_setter(*node, value),
    )


class GenericModule(PropModule):
    fp32_precision = _precision("generic", "all")


sys.modules[__name__] = GenericModule(sys.modules[__name__], __name__)


@contextlib.contextmanager
def _flags(enabled=False, benchmark=False):
    before = _C._get_cudnn_enabled(), _C._get_cudnn_benchmark()
    _C._set_cudnn_enabled(enabled)
    _C._set_cudnn_benchmark(benchmark)
    try:
        yield
    finally:
        _C._set_cudnn_enabled(before[0])
        _C._set_cudnn_benchmark(before[1])


class CudnnModule(PropModule):
    enabled = ContextProp(_C._get_cudnn_enabled, _C._set_cudnn_enabled)
    deterministic = ContextProp(_C._get_cudnn_deterministic, _C._set_cudnn_deterministic)
    benchmark = ContextProp(_C._get_cudnn_benchmark, _C._set_cudnn_benchmark)
    allow_tf32 = ContextProp(_C._get_cudnn_allow_tf32, _C._set_cudnn_allow_tf32)
    conv = _FP32Precision("cuda", "conv")
    fp32_precision = _precision("cuda", "all")


class MkldnnModule(PropModule):
    enabled = ContextProp(_C._get_mkldnn_enabled, _C._set_mkldnn_enabled)
    allow_tf32 = ContextProp(_C._get_onednn_allow_tf32, _C._set_onednn_allow_tf32)


class OptEinsumModule(PropModule):
    """Its class has no properties: PyTorch assigns the names in the module. An assignment hides those."""


class QuantizedModule(PropModule):
    @property
    def engine(self):
        return _ENGINES[_C._get_qengine()]

    @engine.setter
    def engine(self, value):
        _C._set_qengine(_ENGINES.index(value))


_ENGINES = ["none", "fbgemm", "qnnpack", "onednn", "x86"]
_mha = {"fastpath": True}


def _set_enabled(value):
    sys.modules[__name__].opt_einsum.m.enabled = value


class _Matmul:
    def __getattr__(self, name):
        if name == "fp32_precision":
            return _C._get_fp32_precision_getter("cuda", "matmul")
        return _C._get_cublas_allow_tf32()

    def __setattr__(self, name, value):
        if name == "fp32_precision":
            return _C._set_fp32_precision_setter("cuda", "matmul", value)
        _C._set_cublas_allow_tf32(value)


def _preferred(library):
    def function(value=None):
        if value is not None:
            getattr(_C, f"_set_{library}_preferred_backend")(_C._Member(value.capitalize()))
        return getattr(_C, f"_get_{library}_preferred_backend")()

    return function


def _module(name, kind, **attributes):
    inner = types.ModuleType(f"{__name__}.{name}")
    vars(inner).update(attributes)
    module = kind(inner, inner.__name__)
    sys.modules[inner.__name__] = module
    setattr(sys.modules[__name__], name, module)


_module("cudnn", CudnnModule, flags=_flags)
_module("mkldnn", MkldnnModule)
_module("quantized", QuantizedModule)
# Without the package opt_einsum, as in the environments of the tests with PyTorch.
_module("opt_einsum", OptEinsumModule, enabled=False, strategy=None, _set_enabled=_set_enabled)
_module(
    "mha",
    PropModule,
    get_fastpath_enabled=lambda: _mha["fastpath"],
    set_fastpath_enabled=lambda value: _mha.update(fastpath=value),
)
_module(
    "cuda",
    PropModule,
    matmul=_Matmul(),
    **{f"preferred_{name}_library": _preferred(name) for name in ("linalg", "blas", "rocm_fa")},
)
