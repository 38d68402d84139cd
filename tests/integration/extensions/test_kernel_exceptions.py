"""A kernel of an extension that returns while a Python exception is set."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.extensions import environment_with_module
from tests.helpers.subprocess import program, run_command

MODULE = r"""
#include <Python.h>

#include <interlock.h>

static const InterlockApi *api;

/* Returns the status that the context points to, with an exception. */
static int32_t run(void *context, const InterlockKernelCall *call, char *message, size_t capacity) {
    PyGILState_STATE state = PyGILState_Ensure();
    (void)call;
    (void)message;
    (void)capacity;
    PyErr_SetString(PyExc_KeyError, "of the kernel");
    PyGILState_Release(state);
    return *(int32_t *)context;
}

static PyObject *add(PyObject *module, PyObject *status) {
    static int32_t returned;
    InterlockError error = interlock_no_error();
    InterlockKernel kernel;
    (void)module;
    returned = (int32_t)PyLong_AsLong(status);
    memset(&kernel, 0, sizeof kernel);
    kernel.size = sizeof kernel;
    kernel.name = "raising";
    kernel.context = &returned;
    kernel.run = run;
    if (api->kernel_register(interlock_text("matmul"), &kernel, &error) != INTERLOCK_OK) {
        api->error_raise(&error);
        return NULL;
    }
    Py_RETURN_NONE;
}

static int execute(PyObject *module) {
    (void)module;
    api = interlock_import();
    return api == NULL ? -1 : 0;
}

static PyMethodDef methods[] = {{"add", add, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)execute}, {0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "raising", NULL, 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_raising(void) { return PyModuleDef_Init(&definition); }
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment with the module."""
    return environment_with_module("raising", MODULE, tmp_path_factory.mktemp("raising"))


@pytest.mark.parametrize(
    ("status", "printed"),
    [
        pytest.param(
            2,
            "RuntimeError('matmul: the kernel raising failed: status 2') | KeyError('of the kernel')\n",
            id="error",
        ),
        pytest.param(0, "KeyError('of the kernel') | None\n", id="done"),
        pytest.param(1, "KeyError('of the kernel') | None\n", id="refused"),
    ],
)
def test_exception_that_a_kernel_leaves_set_is_raised(python: Path, status: int, printed: str) -> None:
    done = run_command([str(python), *program("extensions.kernel_leaves_an_exception", status)])
    assert done == (0, printed, "")
