"""Checked by mypy and basedpyright against the installed wheel, and run by pytest."""

from pathlib import Path

import interlock


def test_the_installed_package_says_that_it_carries_types() -> None:
    assert Path(interlock.__path__[0], "py.typed").is_file()
