"""An extension of griffe: reads the section `Example:` of docstrings as it reads `Examples:`."""

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
