"""Build the extension with the header of the installed interlock."""

import interlock
from setuptools import Extension, setup

extension = Extension(
    "extension_c",
    ["extension.c"],
    include_dirs=[interlock.get_include()],
    extra_compile_args=["-std=c11", "-pthread"],
    extra_link_args=["-pthread"],
)
setup(ext_modules=[extension], py_modules=[])
