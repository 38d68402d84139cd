"""Build the extension with the headers of the installed interlock and pybind11."""

import interlock
from pybind11.setup_helpers import Pybind11Extension
from setuptools import setup

extension = Pybind11Extension(
    "extension_pybind11",
    ["extension.cpp"],
    include_dirs=[interlock.get_include()],
    cxx_std=17,
    extra_compile_args=["-pthread"],
    extra_link_args=["-pthread"],
)
setup(ext_modules=[extension], py_modules=[])
