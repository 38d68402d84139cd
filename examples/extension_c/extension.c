/*
 * An extension module that reads and sets interlock's flags and modes, has flags and a kernel of its own, and works on
 * devices.
 */
#include <Python.h>

#include <interlock.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static const InterlockApi *api;
/* The module's own flags, and one of interlock's. */
static InterlockFlag level;
static InterlockFlag matmul;
static InterlockFlag benchmark;

/* Raises the exception of an error. */
static PyObject *fail(const InterlockError *error) {
    api->error_raise(error);
    return NULL;
}

static PyObject *read_state(PyObject *module, PyObject *ignored) {
    (void)module;
    (void)ignored;
    return Py_BuildValue("(NN)", PyBool_FromLong(interlock_bool(api, &benchmark)),
                         PyBool_FromLong(interlock_is_on(api, INTERLOCK_MODE_GRAD)));
}

/* Calls a function while this thread has another flag and mode. */
static PyObject *call_with(PyObject *module, PyObject *args) {
    int flag, grad;
    PyObject *function, *result = NULL;
    InterlockGuard flag_guard = {0, 0}, mode_guard = {0, 0};
    InterlockError error = interlock_no_error();
    (void)module;
    if (!PyArg_ParseTuple(args, "ppO", &flag, &grad, &function)) {
        return NULL;
    }
    if (interlock_enter(api, &benchmark, interlock_value_of_bool(flag), &flag_guard, &error) == INTERLOCK_OK &&
        api->modes_enter(INTERLOCK_MODE_GRAD, grad ? INTERLOCK_MODE_GRAD : 0, &mode_guard, &error) == INTERLOCK_OK) {
        result = PyObject_CallNoArgs(function);
    } else {
        fail(&error);
    }
    /* Also for a guard that was not entered. */
    api->guard_exit(&mode_guard);
    api->guard_exit(&flag_guard);
    return result;
}

static PyObject *get_level(PyObject *module, PyObject *ignored) {
    (void)module;
    (void)ignored;
    return PyLong_FromLongLong(interlock_integer(api, &level));
}

static PyObject *set_level(PyObject *module, PyObject *argument) {
    InterlockError error = interlock_no_error();
    long long value = PyLong_AsLongLong(argument);
    (void)module;
    if (value == -1 && PyErr_Occurred()) {
        return NULL;
    }
    if (interlock_set(api, &level, interlock_value_of_integer(value), &error) != INTERLOCK_OK) {
        return fail(&error);
    }
    Py_RETURN_NONE;
}

/* The arguments of work that is queued on a stream. */
typedef struct Bytes {
    const uint8_t *items;
    int64_t count;
    int64_t *sum;
} Bytes;

static int32_t add(void *data, InterlockError *error) {
    Bytes *bytes = data;
    (void)error;
    *bytes->sum = 0;
    for (int64_t i = 0; i < bytes->count; i++) {
        *bytes->sum += bytes->items[i];
    }
    return INTERLOCK_OK;
}

/* Sums bytes on the current stream of the current device, and waits. Needs no interpreter. */
static int32_t sum_on_stream(Bytes bytes, InterlockError *error) {
    InterlockStream *stream = NULL;
    InterlockWork work = {add, &bytes, NULL};
    int32_t code = api->stream_current(NULL, &stream, error);
    if (code == INTERLOCK_OK) {
        /* A GPU's library would receive the native handle of the stream, from `stream_info`. */
        code = api->stream_launch(stream, interlock_text("add"), work, error);
    }
    if (code == INTERLOCK_OK) {
        code = api->stream_synchronize(stream, error);
    }
    if (code != INTERLOCK_OK && stream != NULL) {
        /* A signal may have ended the wait, and the work still uses the bytes and the sum. */
        api->stream_synchronize(stream, NULL);
    }
    api->stream_free(stream); /* null is accepted */
    return code;
}

/* Sums the bytes of a tensor that the CPU can access, which arrives through DLPack. */
static PyObject *total(PyObject *module, PyObject *argument) {
    InterlockError error = interlock_no_error();
    int64_t sum = 0;
    const InterlockTensor *tensor;
    /* The capsule owns a DLManagedTensor, which begins with its tensor. */
    PyObject *capsule = PyObject_CallMethod(argument, "__dlpack__", NULL);
    (void)module;
    if (capsule == NULL) {
        return NULL;
    }
    tensor = PyCapsule_GetPointer(capsule, "dltensor");
    if (tensor == NULL) {
        Py_DECREF(capsule);
        return NULL;
    }
    if (tensor->device.device_type != INTERLOCK_TENSOR_CPU || tensor->ndim != 1 || tensor->dtype.bits != 8 ||
        (tensor->strides != NULL && tensor->strides[0] != 1)) {
        PyErr_SetString(PyExc_ValueError, "total: tensor must be contiguous bytes that the CPU can access");
        Py_DECREF(capsule);
        return NULL;
    }
    sum_on_stream((Bytes){(const uint8_t *)tensor->data + tensor->byte_offset, tensor->shape[0], &sum}, &error);
    Py_DECREF(capsule);
    return error.code == INTERLOCK_OK ? PyLong_FromLongLong(sum) : fail(&error);
}

/* Waits for the work of the current stream. */
static PyObject *wait_for_stream(PyObject *module, PyObject *ignored) {
    InterlockError error = interlock_no_error();
    InterlockStream *stream = NULL;
    (void)module;
    (void)ignored;
    if (api->stream_current(NULL, &stream, &error) == INTERLOCK_OK) {
        api->stream_synchronize(stream, &error);
    }
    api->stream_free(stream);
    if (error.code != INTERLOCK_OK) {
        return fail(&error);
    }
    Py_RETURN_NONE;
}

/* The state of a thread that Python does not know: of its own, and with the state of another thread applied. */
typedef struct Seen {
    const InterlockState *state;
    bool own[2];
    bool applied[2];
    bool after[2];
    InterlockError error;
} Seen;

static void note(bool seen[2]) {
    seen[0] = interlock_bool(api, &benchmark);
    seen[1] = interlock_is_on(api, INTERLOCK_MODE_GRAD);
}

static void *look(void *data) {
    Seen *seen = data;
    InterlockGuard guard;
    note(seen->own);
    if (api->state_enter(seen->state, &guard, &seen->error) == INTERLOCK_OK) {
        note(seen->applied);
        api->guard_exit(&guard);
    }
    note(seen->after);
    return NULL;
}

static PyObject *state_on_thread(PyObject *module, PyObject *ignored) {
    InterlockState *state = NULL;
    Seen seen;
    pthread_t thread;
    int failed;
    (void)module;
    (void)ignored;
    memset(&seen, 0, sizeof seen);
    seen.error = interlock_no_error();
    if (api->state_capture(0, &state, &seen.error) != INTERLOCK_OK) {
        return fail(&seen.error);
    }
    seen.state = state;
    Py_BEGIN_ALLOW_THREADS
    failed = pthread_create(&thread, NULL, look, &seen);
    if (!failed) {
        pthread_join(thread, NULL);
    }
    Py_END_ALLOW_THREADS
    api->state_free(state);
    if (failed) {
        errno = failed;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    if (seen.error.code != INTERLOCK_OK) {
        return fail(&seen.error);
    }
#define PAIR(pair) PyBool_FromLong(pair[0]), PyBool_FromLong(pair[1])
    return Py_BuildValue("((NN)(NN)(NN))", PAIR(seen.own), PAIR(seen.applied), PAIR(seen.after));
}

/* Works on its own thread until the process exits, also while the interpreter is finalized. */
static void *work_until_exit(void *data) {
    InterlockError error = interlock_no_error();
    (void)data;
    for (;;) {
        static const uint8_t items[] = {20, 22};
        InterlockGuard guard;
        int64_t sum = 0;
        if (interlock_enter(api, &benchmark, interlock_value_of_bool(true), &guard, &error) != INTERLOCK_OK ||
            !interlock_bool(api, &benchmark)) {
            abort();
        }
        api->guard_exit(&guard);
        if (sum_on_stream((Bytes){items, 2, &sum}, &error) == INTERLOCK_OK && sum != 42) {
            abort();
        }
    }
    return NULL;
}

static PyObject *start_thread(PyObject *module, PyObject *ignored) {
    pthread_t thread;
    int failed = pthread_create(&thread, NULL, work_until_exit, NULL);
    (void)module;
    (void)ignored;
    if (failed) {
        errno = failed;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    pthread_detach(thread);
    Py_RETURN_NONE;
}

static bool is_float_matrix(const InterlockTensor *tensor) {
    return tensor->ndim == 2 && tensor->device.device_type == INTERLOCK_TENSOR_CPU &&
           tensor->dtype.code == INTERLOCK_DTYPE_FLOAT && tensor->dtype.bits == 32;
}

/* Accepts two matrices of floats on the CPU. The tensors have no data yet. */
static int32_t can_multiply(void *context, const InterlockKernelCall *call, char *message, size_t capacity) {
    (void)context;
    if (is_float_matrix(&call->inputs[0]) && is_float_matrix(&call->inputs[1])) {
        return INTERLOCK_STATUS_DONE;
    }
    snprintf(message, capacity, "needs matrices of float32 on the CPU");
    return INTERLOCK_STATUS_REFUSED;
}

static double element(const InterlockTensor *matrix, int64_t row, int64_t column) {
    const float *data = matrix->data;
    return data[row * matrix->strides[0] + column * matrix->strides[1]];
}

/* Multiplies two matrices of floats, and sums in double precision. */
static int32_t multiply(void *context, const InterlockKernelCall *call, char *message, size_t capacity) {
    const InterlockTensor *left = &call->inputs[0], *right = &call->inputs[1];
    float *out = call->outputs[0].data;
    (void)context;
    (void)message;
    (void)capacity;
    for (int64_t row = 0; row < left->shape[0]; row++) {
        for (int64_t column = 0; column < right->shape[1]; column++) {
            double sum = 0;
            for (int64_t i = 0; i < left->shape[1]; i++) {
                sum += element(left, row, i) * element(right, i, column);
            }
            *out++ = (float)sum;
        }
    }
    return INTERLOCK_STATUS_DONE;
}

static PyMethodDef methods[] = {
    {"state", read_state, METH_NOARGS, "Return `cudnn.benchmark` and the gradient mode of this thread."},
    {"call_with", call_with, METH_VARARGS, "Call a function while this thread has another flag and mode."},
    {"level", get_level, METH_NOARGS, "Return the module's own flag."},
    {"set_level", set_level, METH_O, "Write the module's own flag."},
    {"total", total, METH_O, "Sum the bytes of a tensor on the current stream."},
    {"wait", wait_for_stream, METH_NOARGS, "Wait for the work of the current stream."},
    {"state_on_thread", state_on_thread, METH_NOARGS, "Return what a thread of the module sees."},
    {"start_thread", start_thread, METH_NOARGS, "Start a thread that works until the process exits."},
    {NULL, NULL, 0, NULL},
};

/* Registers the module's flag. The environment variable EXTENSION_C_LEVEL sets it, too. */
static int register_level(void) {
    InterlockError error = interlock_no_error(), warning = interlock_no_error();
    InterlockFlagDecl declaration;
    memset(&declaration, 0, sizeof declaration);
    declaration.size = (uint32_t)sizeof declaration;
    declaration.kind = INTERLOCK_KIND_INTEGER;
    declaration.name = interlock_text("extension_c.level");
    declaration.doc = interlock_text("How much the extension prints.");
    declaration.default_value = interlock_value_of_integer(-1);
    declaration.minimum = interlock_value_of_integer(-1);
    declaration.maximum = interlock_value_of_integer(9);
    level.size = (uint32_t)sizeof level;
    if (api->flag_register(&declaration, &level, &warning, &error) != INTERLOCK_OK) {
        fail(&error);
        return -1;
    }
    if (warning.code != INTERLOCK_OK) {
        return PyErr_WarnEx(PyExc_RuntimeWarning, warning.text, 1);
    }
    return 0;
}

/* Registers the module's kernel, which its flag `extension_c.matmul` switches off. */
static int register_kernel(void) {
    static bool is_registered; /* A kernel is never removed, and the module may be initialized again. */
    InterlockError error = interlock_no_error();
    InterlockFlagDecl declaration;
    const InterlockFlagRequirement requirement = {"extension_c.matmul", "True"};
    InterlockKernel kernel;
    memset(&declaration, 0, sizeof declaration);
    declaration.size = (uint32_t)sizeof declaration;
    declaration.kind = INTERLOCK_KIND_BOOL;
    declaration.name = interlock_text("extension_c.matmul");
    declaration.doc = interlock_text("Whether the extension multiplies matrices.");
    declaration.default_value = interlock_value_of_bool(true);
    matmul.size = (uint32_t)sizeof matmul;
    memset(&kernel, 0, sizeof kernel);
    kernel.size = sizeof kernel;
    kernel.name = "extension_c";
    kernel.requirements = &requirement;
    kernel.num_requirements = 1;
    kernel.condition = can_multiply;
    kernel.run = multiply;
    if (api->flag_register(&declaration, &matmul, NULL, &error) != INTERLOCK_OK ||
        (!is_registered &&
         api->kernel_register(interlock_text("matmul"), &kernel, &error) != INTERLOCK_OK)) {
        fail(&error);
        return -1;
    }
    is_registered = true;
    return 0;
}

static int execute(PyObject *module) {
    InterlockError error = interlock_no_error();
    (void)module;
    api = interlock_import();
    if (api == NULL || register_level() != 0 || register_kernel() != 0) {
        return -1;
    }
    if (interlock_find(api, "cudnn.benchmark", &benchmark, &error) != INTERLOCK_OK) {
        fail(&error);
        return -1;
    }
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)(uintptr_t)execute},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "extension_c", "An extension module in C that shares interlock's state.", 0, methods, slots,
    NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_extension_c(void) {
    return PyModuleDef_Init(&definition);
}
