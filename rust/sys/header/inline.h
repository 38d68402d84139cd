/*
 * Inline functions.
 *
 * Flags and modes are read without a call: `interlock_bool` and `interlock_integer` are two loads while no thread has a
 * flag scope open, `interlock_is_on` is one load. The other functions convert their arguments and call the table.
 */

/** Returns a view of a text that ends with a null byte. */
static inline InterlockText interlock_text(const char *text) {
    InterlockText view;
    view.data = text;
    view.bytes = text == NULL ? 0 : strlen(text);
    return view;
}

/** Returns an error that is ready to be passed to a function. */
static inline InterlockError interlock_no_error(void) {
    InterlockError error;
    error.size = (uint32_t)sizeof error;
    error.code = INTERLOCK_OK;
    error.text[0] = '\0';
    return error;
}

/** Returns a bool as a value. */
static inline InterlockValue interlock_value_of_bool(bool value) {
    InterlockValue result;
    result.kind = INTERLOCK_VALUE_BOOL;
    result.reserved = 0;
    result.data.integer = value;
    return result;
}

/** Returns an integer as a value. */
static inline InterlockValue interlock_value_of_integer(int64_t value) {
    InterlockValue result;
    result.kind = INTERLOCK_VALUE_INTEGER;
    result.reserved = 0;
    result.data.integer = value;
    return result;
}

/** Returns a float as a value. */
static inline InterlockValue interlock_value_of_float(double value) {
    InterlockValue result;
    result.kind = INTERLOCK_VALUE_FLOAT;
    result.reserved = 0;
    result.data.number = value;
    return result;
}

/** Returns a text as a value, which is valid as long as the text. */
static inline InterlockValue interlock_value_of_text(const char *text) {
    InterlockValue result;
    result.kind = INTERLOCK_VALUE_TEXT;
    result.reserved = 0;
    result.data.text = interlock_text(text);
    return result;
}

/** Returns the value None. In a declaration it means: no limit. */
static inline InterlockValue interlock_value_of_none(void) {
    InterlockValue result = interlock_value_of_integer(0);
    result.kind = INTERLOCK_VALUE_NONE;
    return result;
}

/** Returns the value that unsets a flag. */
static inline InterlockValue interlock_value_unset(void) {
    InterlockValue result = interlock_value_of_integer(0);
    result.kind = INTERLOCK_VALUE_UNSET;
    return result;
}

/** Finds a flag by its dotted name. */
static inline int32_t interlock_find(const InterlockApi *api, const char *name, InterlockFlag *flag,
                                     InterlockError *error) {
    flag->size = (uint32_t)sizeof *flag;
    return api->flag_find(interlock_text(name), flag, error);
}

/** Returns the bits of a plain flag that are active on this thread; 0 for other flags. */
static inline uint64_t interlock_payload(const InterlockApi *api, const InterlockFlag *flag) {
    if (flag->word != NULL && __atomic_load_n(flag->open_scopes, __ATOMIC_RELAXED) == 0) {
        return __atomic_load_n(flag->word, __ATOMIC_RELAXED) & INTERLOCK_PAYLOAD_MASK;
    }
    return api->flag_payload(flag->id);
}

/**
 * Returns the value of a plain bool that is active on this thread: two loads while no scope is open. Returns false for
 * flags that are not plain, which `flag_read` reads.
 */
static inline bool interlock_bool(const InterlockApi *api, const InterlockFlag *flag) {
    return interlock_payload(api, flag) != 0;
}

/**
 * Returns the value of a plain integer that is active on this thread: two loads while no scope is open. Returns 0 for
 * flags that are not plain, which `flag_read` reads.
 */
static inline int64_t interlock_integer(const InterlockApi *api, const InterlockFlag *flag) {
    return (int64_t)interlock_payload(api, flag) - flag->bias;
}

/** Writes one flag: in the innermost guard or scope that sets it, else for the process. */
static inline int32_t interlock_set(const InterlockApi *api, const InterlockFlag *flag, InterlockValue value,
                                    InterlockError *error) {
    InterlockWrite write;
    write.flag = flag->id;
    write.reserved = 0;
    write.value = value;
    return api->flags_write(&write, 1, error);
}

/** Sets one flag on this thread until `api->guard_exit(guard)`. The guard must not be open: the call overwrites it. */
static inline int32_t interlock_enter(const InterlockApi *api, const InterlockFlag *flag, InterlockValue value,
                                      InterlockGuard *guard, InterlockError *error) {
    InterlockScope *scope = NULL;
    InterlockWrite write;
    int32_t code;
    write.flag = flag->id;
    write.reserved = 0;
    write.value = value;
    code = api->scope_new(&write, 1, &scope, error);
    if (code != INTERLOCK_OK) {
        return code;
    }
    code = api->scope_enter(scope, guard, error);
    api->scope_free(scope);
    return code;
}

/** The mode word of this thread, once it has been read. */
static __thread const uint8_t *interlock_mode_word;

/** Finds the mode word of this thread. A call, so that the code of a read stays small. */
__attribute__((cold, noinline, unused)) static uint8_t interlock_first_modes(const InterlockApi *api) {
    interlock_mode_word = api->mode_word_address();
    return *interlock_mode_word;
}

/** Returns the bits INTERLOCK_MODE_* of the modes that are on for this thread. */
static inline uint8_t interlock_modes(const InterlockApi *api) {
    const uint8_t *word = interlock_mode_word;
    return word != NULL ? *word : interlock_first_modes(api);
}

/** Returns whether a mode, one of INTERLOCK_MODE_*, is on for this thread. */
static inline bool interlock_is_on(const InterlockApi *api, uint8_t mode) {
    return (interlock_modes(api) & mode) != 0;
}

/** Disables the recording of gradients on this thread until `api->guard_exit(guard)`. */
static inline int32_t interlock_no_grad(const InterlockApi *api, InterlockGuard *guard, InterlockError *error) {
    return api->modes_enter(INTERLOCK_MODE_GRAD, 0, guard, error);
}

/** Enables the recording of gradients on this thread until `api->guard_exit(guard)`. */
static inline int32_t interlock_enable_grad(const InterlockApi *api, InterlockGuard *guard, InterlockError *error) {
    return api->modes_enter(INTERLOCK_MODE_GRAD, INTERLOCK_MODE_GRAD, guard, error);
}

#ifdef Py_PYTHON_H

/**
 * Imports interlock and returns its table, which is valid until the process exits. Returns NULL with a Python exception
 * if interlock cannot be imported, or lacks entries of this header: the one that `import interlock` raises, or
 * ImportError.
 *
 * Interpreter: the thread must hold the GIL.
 */
static inline const InterlockApi *interlock_import(void) {
    const InterlockApi *api;
    /* First, because PyCapsule_Import replaces the exception of an import that fails. */
    PyObject *interlock = PyImport_ImportModule("interlock");
    if (interlock == NULL) {
        return NULL;
    }
    Py_DECREF(interlock);
    api = (const InterlockApi *)PyCapsule_Import("interlock._core._C_API", 0);
    if (api == NULL) {
        return NULL;
    }
    if (api->version != INTERLOCK_API_VERSION || api->size < sizeof(InterlockApi)) {
        PyErr_Format(PyExc_ImportError,
                     "this extension needs interlock %s or newer with version %d of its table; "
                     "interlock %s with version %d is installed",
                     INTERLOCK_RELEASE, (int)INTERLOCK_API_VERSION, api->release, (int)api->version);
        return NULL;
    }
    return api;
}

#endif
