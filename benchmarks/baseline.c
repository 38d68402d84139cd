/* The baselines: the measured operations, implemented in C for one version of CPython. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdatomic.h>

static atomic_uchar flag = 1;
static _Thread_local unsigned char mode = 1;

/* A flag of a module: a getter of a subtype of the module type. */

static PyObject *get_flag(PyObject *self, void *closure) {
    return PyBool_FromLong(atomic_load_explicit(&flag, memory_order_relaxed));
}

static PyGetSetDef flag_members[] = {{"enabled", get_flag, NULL, NULL, NULL}, {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot flag_slots[] = {{Py_tp_getset, flag_members}, {0, NULL}};
static PyType_Spec flag_spec = {
    .name = "interlock_baseline.Flags", .flags = Py_TPFLAGS_DEFAULT, .slots = flag_slots};

/* A mode as a context manager: it saves one value and restores it. */

typedef struct {
    PyObject_HEAD
    unsigned char saved;
} Mode;

static PyObject *mode_enter(PyObject *self, PyObject *nothing) {
    ((Mode *)self)->saved = mode;
    mode = 0;
    Py_RETURN_NONE;
}

static PyObject *mode_exit(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
    mode = ((Mode *)self)->saved;
    Py_RETURN_NONE;
}

static PyMethodDef mode_methods[] = {
    {"__enter__", mode_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))mode_exit, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL}};

static void mode_free(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyType_Slot mode_slots[] = {
    {Py_tp_methods, mode_methods}, {Py_tp_new, PyType_GenericNew}, {Py_tp_dealloc, mode_free}, {0, NULL}};
static PyType_Spec mode_spec = {.name = "interlock_baseline.Mode",
                                .basicsize = sizeof(Mode),
                                .flags = Py_TPFLAGS_DEFAULT,
                                .slots = mode_slots};

/* A context variable, which is set and reset. */

typedef struct {
    PyObject_HEAD
    PyObject *variable;
} Variable;

static PyObject *variable_new(PyTypeObject *type, PyObject *arguments, PyObject *named) {
    Variable *self = (Variable *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->variable = PyContextVar_New("interlock_baseline.variable", NULL);
    if (self->variable == NULL) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static PyObject *set_and_reset(PyObject *self, PyObject *nothing) {
    PyObject *variable = ((Variable *)self)->variable;
    PyObject *token = PyContextVar_Set(variable, Py_True);
    if (token == NULL) return NULL;
    int status = PyContextVar_Reset(variable, token);
    Py_DECREF(token);
    if (status < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *set(PyObject *self, PyObject *nothing) {
    PyObject *token = PyContextVar_Set(((Variable *)self)->variable, Py_False);
    if (token == NULL) return NULL;
    Py_DECREF(token);
    Py_RETURN_NONE;
}

static PyMethodDef variable_methods[] = {{"set_and_reset", set_and_reset, METH_NOARGS, NULL},
                                         {"set", set, METH_NOARGS, NULL},
                                         {NULL, NULL, 0, NULL}};

static void variable_free(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((Variable *)self)->variable);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyType_Slot variable_slots[] = {
    {Py_tp_methods, variable_methods}, {Py_tp_new, variable_new}, {Py_tp_dealloc, variable_free}, {0, NULL}};
static PyType_Spec variable_spec = {.name = "interlock_baseline.Variable",
                                    .basicsize = sizeof(Variable),
                                    .flags = Py_TPFLAGS_DEFAULT,
                                    .slots = variable_slots};

/* A scope of the context: it sets a context variable to itself and resets it. */

static PyObject *scope_variable;

typedef struct {
    PyObject_HEAD
    PyObject *token;
} Scope;

static PyObject *scope_enter(PyObject *self, PyObject *nothing) {
    PyObject *token = PyContextVar_Set(scope_variable, self);
    if (token == NULL) return NULL;
    Py_XSETREF(((Scope *)self)->token, token);
    Py_RETURN_NONE;
}

static PyObject *scope_exit(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
    if (PyContextVar_Reset(scope_variable, ((Scope *)self)->token) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef scope_methods[] = {
    {"__enter__", scope_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))scope_exit, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL}};

static void scope_free(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((Scope *)self)->token);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyType_Slot scope_slots[] = {
    {Py_tp_methods, scope_methods}, {Py_tp_new, PyType_GenericNew}, {Py_tp_dealloc, scope_free}, {0, NULL}};
static PyType_Spec scope_spec = {.name = "interlock_baseline.Scope",
                                 .basicsize = sizeof(Scope),
                                 .flags = Py_TPFLAGS_DEFAULT,
                                 .slots = scope_slots};

static int add_types(PyObject *module) {
    scope_variable = PyContextVar_New("interlock_baseline.scope", NULL);
    if (scope_variable == NULL) return -1;
    PyObject *scopes = PyType_FromSpec(&scope_spec);
    if (scopes == NULL || PyModule_AddObject(module, "Scope", scopes) < 0) return -1;
    PyObject *bases = PyTuple_Pack(1, (PyObject *)&PyModule_Type);
    if (bases == NULL) return -1;
    PyObject *flags = PyType_FromSpecWithBases(&flag_spec, bases);
    Py_DECREF(bases);
    if (flags == NULL || PyModule_AddObject(module, "Flags", flags) < 0) return -1;
    PyObject *modes = PyType_FromSpec(&mode_spec);
    if (modes == NULL || PyModule_AddObject(module, "Mode", modes) < 0) return -1;
    PyObject *variables = PyType_FromSpec(&variable_spec);
    if (variables == NULL || PyModule_AddObject(module, "Variable", variables) < 0) return -1;
    return 0;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, add_types}, {0, NULL}};
static PyModuleDef module = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "interlock_baseline", .m_slots = module_slots};

PyMODINIT_FUNC PyInit_interlock_baseline(void) { return PyModuleDef_Init(&module); }
