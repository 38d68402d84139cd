"""The import of interlock: its warnings and what it reads."""

import warnings


def import_warnings():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        import interlock
    return [str(each.message) for each in caught]


def warnings_of_the_import():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        from interlock import errors
    assert issubclass(errors.FlagEnvironmentWarning, UserWarning)
    return [[each.category.__name__, str(each.message)] for each in caught]


def read_every_flag(table):
    """Read every flag before and after an assignment and deletion: both give the environment's value."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        from interlock import backends, errors
    assert all(issubclass(each.category, errors.FlagEnvironmentWarning) for each in caught)

    def read():
        return {name: backends.explain(name)[1:4] for name in table}

    first = read()
    for name, value in table.items():
        *path, attribute = name.split(".")
        owner = backends
        for part in path:
            owner = getattr(owner, part)
        # JSON has no tuples.
        setattr(owner, attribute, tuple(value) if isinstance(value, list) else value)
        delattr(owner, attribute)
        assert backends.explain(name)[1:4] == first[name], name
    return [first, [str(each.message) for each in caught]]


def misspelt_variable_warns_with_the_right_name():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        import interlock

        interlock.backends.cudnn.enabled
    return [str(warning.message) for warning in caught]


def reads_that_interrupt_the_import(name):
    """Read every flag of a namespace at each line of its import, as a signal handler would."""
    import sys

    from interlock import backends
    from interlock._core import backends as native

    flags = [row["name"] for row in native.table() if row["name"].startswith(f"{name}.")]
    lines = 0

    def read_all(frame, event, argument):
        nonlocal lines
        if frame.f_globals.get("__name__", "").startswith(f"interlock.backends.{name}"):
            for flag in flags:
                owner = backends
                for part in flag.split(".")[:-1]:
                    owner = getattr(owner, part)
                assert getattr(owner, flag.rpartition(".")[2]) == native.read(flag), flag
            lines += 1
        return read_all

    sys.settrace(read_all)
    namespace = getattr(backends, name)
    sys.settrace(None)
    assert lines > 1
    assert namespace is getattr(backends, name) is sys.modules[f"interlock.backends.{name}"]
    return [flag.rpartition(".")[2] in dir(namespace) for flag in flags if flag.count(".") == 1]


def reads_that_interrupt_the_import_of_all():
    """Read flags in turn, one at each line of the import of `backends`, and return the number of lines."""
    import sys

    import interlock
    from interlock._core import backends as native

    flags = [row["name"] for row in native.table()]
    lines = 0

    def read_all(frame, event, argument):
        nonlocal lines
        if "interlock.backends" in sys.modules:
            flag = flags[lines % len(flags)]
            owner = interlock.backends
            *path, attribute = flag.split(".")
            for part in path:
                owner = getattr(owner, part)
            assert getattr(owner, attribute) == native.read(flag), flag
            lines += 1
        return read_all

    sys.settrace(read_all)
    backends = interlock.backends
    sys.settrace(None)
    assert backends is interlock.backends is sys.modules["interlock.backends"]
    assert type(backends) is backends.GenericModule
    assert type(backends.cudnn) is native.CLASSES["cudnn"]
    assert backends.cudnn is sys.modules["interlock.backends.cudnn"]
    return lines


def import_that_a_handler_ends():
    """Read a flag in the import of `backends`, end the import, and use `backends` again."""
    import sys

    import interlock

    def read_and_end(frame, event, argument):
        if frame.f_globals.get("__name__") == "interlock.backends._register":
            assert interlock.backends.cudnn.enabled
            raise KeyboardInterrupt

    sys.settrace(read_and_end)
    try:
        interlock.backends
    except KeyboardInterrupt:
        sys.settrace(None)
    assert "interlock.backends" not in sys.modules
    return [interlock.backends.explain("cudnn.enabled").level, type(interlock.backends).__name__]


def use_that_interrupts_the_import(module):
    """Use a function at the first line of the import of a module, and return the message."""
    import sys

    import interlock

    messages = []

    def use(frame, event, argument):
        if frame.f_globals.get("__name__") == module and not messages:
            try:
                interlock.backends.explain("cudnn.enabled")
            except AttributeError as error:
                messages.append(str(error))

    sys.settrace(use)
    assert interlock.backends.explain("cudnn.enabled").value
    sys.settrace(None)
    return messages
