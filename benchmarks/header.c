/* Times reads through the C header in an extension module, and the same loop with bare loads. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <interlock.h>
#include <time.h>

static const InterlockApi *api;
static InterlockFlag flag;
static InterlockFlag view;
static uint64_t word = 1;

/* Separate functions, called through an opaque pointer: otherwise addresses would be computed once, before the loop.
   Aligned, because a function that begins in the middle of a cache line may take a nanosecond longer. */

#define OPERATION static __attribute__((noinline, aligned(64))) bool

OPERATION bare_load(void) { return __atomic_load_n(&word, __ATOMIC_RELAXED) != 0; }

static __thread uint64_t local = 1;

OPERATION bare_thread_local(void) { return *(volatile uint64_t *)&local != 0; }

OPERATION flag_read(void) { return interlock_bool(api, &flag); }

OPERATION mode_read(void) { return interlock_is_on(api, INTERLOCK_MODE_GRAD); }

OPERATION flag_through_table(void) {
    InterlockValue value;
    return api->flag_read(flag.id, &value, NULL) == INTERLOCK_OK && value.data.integer != 0;
}

OPERATION view_through_table(void) {
    InterlockValue value;
    return api->flag_read(view.id, &value, NULL) == INTERLOCK_OK && value.data.integer != 0;
}

OPERATION mode_through_table(void) { return (*api->mode_word_address() & INTERLOCK_MODE_GRAD) != 0; }

OPERATION guard(void) {
    InterlockGuard entered;
    bool is_entered = interlock_no_grad(api, &entered, NULL) == INTERLOCK_OK;
    api->guard_exit(&entered);
    return is_entered;
}

static const struct {
    const char *name;
    bool (*run)(void);
} operations[] = {
    {"bare load", bare_load},
    {"bare thread-local", bare_thread_local},
    {"flag", flag_read},
    {"mode", mode_read},
    {"flag through the table", flag_through_table},
    {"view through the table", view_through_table},
    {"mode through the table", mode_through_table},
    {"guard", guard},
};

static double nanoseconds(bool (*operation)(void), long iterations) {
    struct timespec start, end;
    bool (*volatile opaque)(void) = operation;
    volatile bool result;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (long i = 0; i < iterations; i++) {
        result = opaque();
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    (void)result;
    return ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) / (double)iterations;
}

/* Returns the least nanoseconds of each operation over some rounds, in which they take turns. */
static PyObject *measure(PyObject *module, PyObject *args) {
    enum { COUNT = sizeof operations / sizeof operations[0] };
    double least[COUNT];
    long rounds, iterations;
    PyObject *result;
    (void)module;
    if (!PyArg_ParseTuple(args, "ll", &rounds, &iterations)) return NULL;
    for (long round = 0; round < rounds; round++) {
        for (int i = 0; i < COUNT; i++) {
            double time = nanoseconds(operations[i].run, iterations);
            if (round == 0 || time < least[i]) least[i] = time;
        }
    }
    result = PyDict_New();
    for (int i = 0; result != NULL && i < COUNT; i++) {
        PyObject *time = PyFloat_FromDouble(least[i]);
        if (time == NULL || PyDict_SetItemString(result, operations[i].name, time) < 0) Py_CLEAR(result);
        Py_XDECREF(time);
    }
    return result;
}

static int execute(PyObject *module) {
    (void)module;
    api = interlock_import();
    if (api == NULL) return -1;
    if (interlock_find(api, "cudnn.enabled", &flag, NULL) != INTERLOCK_OK ||
        interlock_find(api, "cuda.matmul.allow_tf32", &view, NULL) != INTERLOCK_OK) {
        PyErr_SetString(PyExc_RuntimeError, "the measured flags do not exist");
        return -1;
    }
    return 0;
}

static PyMethodDef methods[] = {{"measure", measure, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)(uintptr_t)execute}, {0, NULL}};
static PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "interlock_header", .m_methods = methods, .m_slots = slots};

PyMODINIT_FUNC PyInit_interlock_header(void) { return PyModuleDef_Init(&definition); }
