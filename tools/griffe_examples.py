"""Extensions of griffe: read the section `Example:` of docstrings as `Examples:`, and overloads of stubs."""

import re
from typing import Any

import griffe

SECTION = re.compile(r"^Example:$", re.MULTILINE)


class SingularExamples(griffe.Extension):  # type: ignore[misc]
    """Renames the section of each docstring that is loaded."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rename the section of one object."""
        if obj.docstring is not None:
            obj.docstring.value = SECTION.sub("Examples:", obj.docstring.value)


class OverloadsOfStubs(griffe.Extension):  # type: ignore[misc]
    """Lists functions that have only overloads, as in stubs: without an implementation griffe omits them."""

    def on_members(self, *, obj: griffe.Object, **_: Any) -> None:
        """Add the first overload, which has the docstring, with the others."""
        for name, overloads in obj.overloads.items():
            if overloads and name not in obj.members:
                overloads[0].overloads = overloads[1:]
                obj.set_member(name, overloads[0])
