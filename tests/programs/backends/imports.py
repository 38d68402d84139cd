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
