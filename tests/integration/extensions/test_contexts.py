"""Contexts and the table: looks, and writes without a scope with and without the GIL."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.extensions import environment_with_module
from tests.helpers.subprocess import program, run_command

MODULE = r"""
#include <Python.h>

#include <interlock.h>

static const InterlockApi *api;

static int32_t write_grad(uint8_t is_on, InterlockError *error) {
    return api->modes_write(INTERLOCK_MODE_GRAD, is_on ? INTERLOCK_MODE_GRAD : 0, error);
}

static int32_t write_flag(uint8_t is_on, InterlockError *error) {
    InterlockFlag flag;
    flag.size = sizeof flag;
    int32_t code = interlock_find(api, "cudnn.enabled", &flag, error);
    return code != INTERLOCK_OK ? code : interlock_set(api, &flag, interlock_value_of_bool(is_on), error);
}

/* Runs a write with the GIL or without it, inside a guard of the mode or not. */
static PyObject *write_state(PyObject *module, PyObject *arguments) {
    const char *what;
    int value, has_gil, in_guard;
    InterlockGuard guard = {0, 0};
    InterlockError error = interlock_no_error();
    int32_t code = INTERLOCK_OK;
    PyThreadState *saved = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "sipp", &what, &value, &has_gil, &in_guard)) return NULL;
    if (!has_gil) saved = PyEval_SaveThread();
    if (in_guard) code = interlock_no_grad(api, &guard, &error);
    if (code == INTERLOCK_OK) {
        switch (what[0]) {
        case 'm': code = write_grad((uint8_t)value, &error); break;
        default: code = write_flag((uint8_t)value, &error);
        }
    }
    uint8_t modes = *api->mode_word_address();
    api->guard_exit(&guard);
    if (saved != NULL) PyEval_RestoreThread(saved);
    return Py_BuildValue("(isO)", (int)code, error.text, modes & INTERLOCK_MODE_GRAD ? Py_True : Py_False);
}

/* Reads the mode word and the current device, after a look if asked to. */
static PyObject *read_state(PyObject *module, PyObject *looks) {
    InterlockDevice device;
    (void)module;
    if (PyObject_IsTrue(looks)) api->sync();
    uint8_t modes = *api->mode_word_address();
    if (api->device_current(&device, NULL) != INTERLOCK_OK) device.index = -2;
    return Py_BuildValue("(Oi)", modes & INTERLOCK_MODE_GRAD ? Py_True : Py_False, (int)device.index);
}

static PyMethodDef methods[] = {
    {"write", write_state, METH_VARARGS, NULL},
    {"read", read_state, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static int load(PyObject *module) {
    (void)module;
    api = interlock_import();
    return api == NULL ? -1 : 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, load}, {0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "contexts_of_c", NULL, 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_contexts_of_c(void) { return PyModuleDef_Init(&definition); }
"""


def test_table_follows_contexts(tmp_path: Path) -> None:
    python = environment_with_module("contexts_of_c", MODULE, tmp_path)
    for case in ("reads", "writes_with_the_gil", "writes_without_the_gil"):
        done = run_command([str(python), *program(f"extension_contexts.{case}")])
        assert done == (0, "done\n", ""), case
