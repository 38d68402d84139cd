"""Types that a private module defines, and the public modules that export them."""

from __future__ import annotations

from typing import get_type_hints


def set_home(module: str, *types: type) -> None:
    """Give types the name of the public module that exports them.

    `typing.get_type_hints` evaluates the annotations of a type in the module that it names. That module lacks
    the names which the annotations use, so they are evaluated before.

    Args:
        module: The name of the public module.
        types: The types, which another module defines.

    """
    for each in types:
        each.__annotations__ = hints = get_type_hints(each, include_extras=True)
        for field in getattr(each, "__dataclass_fields__", {}).values():
            field.type = hints[field.name]
        each.__module__ = module
