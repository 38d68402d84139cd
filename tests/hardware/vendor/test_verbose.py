"""MKL and oneDNN report their calls inside a scope; outside of it the previous level applies."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from interlock.backends import mkl, mkldnn

from tests.hardware.vendor.programs import answer, output


def reports_of(name: str, *arguments: object, env: Mapping[str, str] | None = None) -> dict[str, str]:
    """Run a program; return the reported calls by the word that the program printed before them."""
    reported: dict[str, str] = {}
    word = ""
    for line in output(name, *arguments, env=env):
        match line.split(","):
            case [one] if not one.startswith("MKL_VERBOSE"):
                word = one
                reported[word] = ""
            case ["onednn_verbose", "exec", *_]:
                reported[word] += "call "
            case ["onednn_verbose", what, *_] if what.startswith("create"):
                reported[word] += "preparation "
            case [call, *_] if call.startswith("MKL_VERBOSE SGEMM("):
                reported[word] += "call "
    return {word: what.strip() for word, what in reported.items()}


def test_mkl_reports_a_product_inside_of_the_scope_and_not_outside() -> None:
    reports = reports_of("calls.verbose_around_calls", "mkl", mkl.VERBOSE_ON, True)
    assert reports == {"before": "", "inside": "call", "after": ""}


def test_onednn_reports_a_product_inside_of_the_scope_and_not_outside() -> None:
    reports = reports_of("calls.verbose_around_calls", "mkldnn", mkldnn.VERBOSE_ON, True)
    assert reports == {"before": "", "inside": "call", "after": ""}


def test_onednn_reports_primitive_creation_at_level_two() -> None:
    reports = reports_of("calls.verbose_around_calls", "mkldnn", mkldnn.VERBOSE_ON_CREATION, True)
    assert reports == {"before": "", "inside": "call preparation", "after": ""}


def test_inner_scope_restores_the_level_of_the_outer_one() -> None:
    assert reports_of("calls.verbose_inside_of_verbose") == {
        "oneDNN inside": "call",
        "MKL inside": "call",
        "oneDNN between": "call preparation",
        "oneDNN outside": "call preparation",
        "MKL outside": "call",
        "oneDNN after": "",
        "MKL after": "",
    }


@pytest.mark.parametrize("variable", ["ONEDNN_VERBOSE", "DNNL_VERBOSE"])
def test_onednn_follows_its_variable_after_the_scope(variable: str) -> None:
    reports = reports_of("calls.verbose_around_calls", "mkldnn", 2, True, env={variable: "1"})
    assert reports == {
        "before": "call",
        "inside": "call preparation",
        "after": "call",
    }


def test_onednn_follows_its_variable_if_the_scope_loads_it() -> None:
    reports = reports_of("calls.verbose_around_calls", "mkldnn", 1, False, env={"ONEDNN_VERBOSE": "2"})
    assert reports == {"inside": "call", "after": "call preparation"}


def test_mkl_follows_its_variable_after_the_scope() -> None:
    reports = reports_of("calls.verbose_around_calls", "mkl", 1, False, env={"MKL_VERBOSE": "1"})
    assert reports == {"inside": "call", "after": "call"}


def test_level_that_a_library_lacks_is_refused_before_anything_is_loaded() -> None:
    code = """
        from interlock.backends import mkl, mkldnn
        refusals = [refused(mkl.verbose, level) for level in (-1, 2, 7, 1 << 40)]
        refusals += [refused(mkldnn.verbose, level) for level in (-1, 3, 7, 1 << 40)]
        result = [[error for error, _ in refusals], vendors()]
    """
    assert answer(code) == [["FlagValueError"] * 8, []]


def test_off_loads_nothing() -> None:
    code = """
        from interlock.backends import mkl, mkldnn
        with mkl.verbose(mkl.VERBOSE_OFF), mkldnn.verbose(mkldnn.VERBOSE_OFF):
            result = vendors()
    """
    assert answer(code) == []
