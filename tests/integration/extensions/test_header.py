"""Inline functions of the header, for flags that they cannot read."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.extensions import environment_with_module
from tests.helpers.subprocess import program, run_command

MODULE = r"""
#include <Python.h>

#include <interlock.h>

/* Returns what the header reads of a flag, and the code of a write. */
static PyObject *read_flag(const InterlockApi *api, const InterlockFlag *flag) {
    int32_t code = interlock_set(api, flag, interlock_value_of_bool(true), NULL);
    long long integer = (long long)interlock_integer(api, flag);
    return Py_BuildValue("(iLi)", interlock_bool(api, flag), integer, (int)code);
}

static PyObject *read_flags(PyObject *module, PyObject *ignored) {
    const InterlockApi *api = interlock_import();
    InterlockError error = interlock_no_error();
    InterlockFlag zeros, optional;
    InterlockFlagDecl declaration;
    (void)module;
    (void)ignored;
    if (api == NULL) {
        return NULL;
    }
    memset(&zeros, 0, sizeof zeros);
    memset(&declaration, 0, sizeof declaration);
    declaration.size = sizeof declaration;
    declaration.kind = INTERLOCK_KIND_INTEGER;
    declaration.is_optional = 1;
    declaration.name = interlock_text("reading.optional");
    declaration.doc = interlock_text("An integer or None.");
    declaration.default_value = interlock_value_of_integer(7);
    optional.size = sizeof optional;
    if (api->flag_register(&declaration, &optional, NULL, &error) != INTERLOCK_OK) {
        api->error_raise(&error);
        return NULL;
    }
    return Py_BuildValue("(NN)", read_flag(api, &zeros), read_flag(api, &optional));
}

static PyMethodDef methods[] = {{"read", read_flags, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "reading", NULL, 0, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_reading(void) { return PyModuleDef_Init(&definition); }
"""


def test_reads_of_flags_that_are_not_plain_return_0(tmp_path: Path) -> None:
    python = environment_with_module("reading", MODULE, tmp_path)
    done = run_command([str(python), *program("extensions.header_reads_flags_that_are_not_plain")])
    # 6 is INTERLOCK_ERROR_UNKNOWN_FLAG, and 2 INTERLOCK_ERROR_FLAG_TYPE.
    assert done == (0, "((0, 0, 6), (0, 0, 2))\n" * 2, "")
