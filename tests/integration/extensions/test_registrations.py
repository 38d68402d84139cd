"""Functions of C that are called when flags and modes have changed, and that save and restore a value."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.extensions import environment_with_module
from tests.helpers.subprocess import program, run_command

MODULE = r"""
#include <Python.h>

#include <stdlib.h>

#include <interlock.h>

static const InterlockApi *api;
static char log_of_changes[4096];
static size_t logged;
static int data_drops, value_drops;
static _Thread_local int level;

static void note(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    logged += (size_t)vsnprintf(log_of_changes + logged, sizeof log_of_changes - logged, format, arguments);
    va_end(arguments);
}

static void drop_data(void *data) { data_drops += *(int *)data; }

static void on_flags(void *data, const InterlockFlagChange *change) {
    int values = 0;
    for (size_t index = 0; index < change->values_count; index++) {
        values += (int)change->values[index].value.kind;
    }
    InterlockFlag written = {.size = sizeof written};
    if (change->flag != 0) {
        api->flag_find((InterlockText){"cudnn.benchmark", 15}, &written, NULL);
    }
    note("%d:%u/%d/%d/%u/%d>%d/%d;", *(int *)data, change->kind, change->layer != 0,
         change->flag == written.id, change->level, (int)change->old_value.data.integer,
         (int)change->new_value.data.integer, values);
}

static void on_modes(void *data, uint8_t old_mask, uint8_t old_modes, uint8_t mask, uint8_t modes) {
    note("%d:%d/%d>%d/%d;", *(int *)data, old_mask, old_modes, mask, modes);
}

static void *save(void *data) {
    int *value = malloc(sizeof *value);
    (void)data;
    *value = level;
    return value;
}

static void restore(void *data, void *value) {
    (void)data;
    level = *(int *)value;
}

static void drop_value(void *value) {
    value_drops++;
    free(value);
}

static int one = 1, two = 2, four = 4;

/* Registers what the name says, and returns the address of the registration and the error. */
static PyObject *register_(PyObject *module, PyObject *arguments) {
    const char *what;
    int is_valid;
    InterlockRegistration *registration = NULL;
    InterlockError error = interlock_no_error();
    int32_t code;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "sp", &what, &is_valid)) return NULL;
    if (what[0] == 'f') {
        code = api->flags_on_change(is_valid ? on_flags : NULL, &one, drop_data, &registration, &error);
    } else if (what[0] == 'm') {
        code = api->modes_on_change(is_valid ? on_modes : NULL, &two, drop_data, &registration, &error);
    } else {
        InterlockCarried carried = {is_valid ? save : NULL, restore, drop_value, &four, drop_data};
        code = api->carried_register(interlock_text("level"), carried, &registration, &error);
    }
    return Py_BuildValue("(nis)", (Py_ssize_t)registration, (int)code, error.text);
}

static PyObject *free_(PyObject *module, PyObject *registration) {
    (void)module;
    api->registration_free((InterlockRegistration *)PyLong_AsVoidPtr(registration));
    return PyLong_FromLong(data_drops);
}

static PyObject *take_log(PyObject *module, PyObject *nothing) {
    PyObject *text = PyUnicode_FromStringAndSize(log_of_changes, (Py_ssize_t)logged);
    (void)module;
    (void)nothing;
    logged = 0;
    return text;
}

static PyObject *set_level(PyObject *module, PyObject *value) {
    int before = level;
    (void)module;
    level = (int)PyLong_AsLong(value);
    return PyLong_FromLong(before);
}

static PyObject *get_level(PyObject *module, PyObject *nothing) {
    (void)module;
    (void)nothing;
    return PyLong_FromLong(level);
}

static PyObject *count_values(PyObject *module, PyObject *nothing) {
    (void)module;
    (void)nothing;
    return PyLong_FromLong(value_drops);
}

static PyMethodDef methods[] = {
    {"register", register_, METH_VARARGS, NULL},
    {"free", free_, METH_O, NULL},
    {"take_log", take_log, METH_NOARGS, NULL},
    {"set_level", set_level, METH_O, NULL},
    {"get_level", get_level, METH_NOARGS, NULL},
    {"count_values", count_values, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static int load(PyObject *module) {
    (void)module;
    api = interlock_import();
    return api == NULL ? -1 : 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, load}, {0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "registrations_of_c", NULL, 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_registrations_of_c(void) { return PyModuleDef_Init(&definition); }
"""


def test_table_registers_functions(tmp_path: Path) -> None:
    python = environment_with_module("registrations_of_c", MODULE, tmp_path)
    for case in ("flags", "modes", "carried", "wrong_arguments"):
        done = run_command([str(python), *program(f"extension_registrations.{case}")])
        assert done == (0, "done\n", ""), case
