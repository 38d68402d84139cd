"""The plugin compares tests however they end and however they are run."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.unit.pytest_plugin.run import at, program, run

pytest_plugins = "pytester"


def needs(name: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(find_spec(name) is None, reason=f"needs {name}")


def test_every_outcome_is_compared(pytester: pytest.Pytester) -> None:
    program(pytester, "outcomes")
    done = run(pytester, "-rA")
    left = [line for line in done.output.splitlines() if line.startswith("ERROR ")]
    tests = {line.split("::")[1].split(" ")[0] for line in left}
    assert tests == {
        "test_failed",
        "test_skipped",
        "test_xfailed",
        "test_xfailed_in_teardown",
        "test_crashed",
        "test_not_set_up",
    }
    assert done.output.count("environ.LEFT: None -> '1'") == 5
    assert done.output.count("environ.FIXTURE: None -> '1'") == 1
    # An error of the setup and one of the teardown.
    assert done.outcomes["errors"] == 7
    assert (done.outcomes["failed"], done.outcomes["passed"], done.outcomes["skipped"]) == (1, 2, 2)


def test_first_failure_ends_the_run_with_everything_put_back(pytester: pytest.Pytester) -> None:
    program(pytester, "exit_conftest", as_conftest=True)
    program(pytester, "exit")
    assert "all was put back" in run(pytester, "-s", mode="restore").output


@needs("xdist")
def test_workers_of_xdist_compare(pytester: pytest.Pytester) -> None:
    program(pytester, "workers")
    assert run(pytester, "-n", "2", beside="xdist").outcomes == {"passed": 6, "errors": 3}


@needs("pytest_asyncio")
def test_tests_of_pytest_asyncio_are_compared(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        flavour="from pytest import mark\nfrom pytest_asyncio import fixture\nmark = mark.asyncio\n"
    )
    path = program(pytester, "asynchronous")
    done = run(pytester, "-W", "ignore::DeprecationWarning", beside="asyncio")
    entered = at(path, "test_override", "settings")
    assert done.left == {
        "test_leak": [f"environ.LEFT: None -> '1', written at {at(path, 'test_leak', 'environ')}"],
        "test_override": [f"the override of mylib.level that was entered at {entered} was left open"],
    }
    assert done.outcomes == {"passed": 5, "errors": 2}


@needs("pytest_asyncio")
def test_loop_of_a_module_keeps_what_its_fixture_sets(pytester: pytest.Pytester) -> None:
    path = program(pytester, "loop_of_a_module")
    done = run(pytester, beside="asyncio")
    assert done.left == {
        "test_two": [f"environ.LEFT: None -> '1', written at {at(path, 'test_two', 'LEFT')}"]
    }
    assert done.outcomes == {"passed": 3, "errors": 1}


@needs("anyio")
@pytest.mark.parametrize("backend", ["asyncio", pytest.param("trio", marks=needs("trio"))])
def test_tests_of_anyio_are_compared(pytester: pytest.Pytester, backend: str) -> None:
    pytester.makeconftest(f"from pytest import fixture\n@fixture\ndef anyio_backend(): return {backend!r}\n")
    pytester.makepyfile(flavour="from pytest import fixture, mark\nmark = mark.anyio\n")
    program(pytester, "asynchronous")
    done = run(pytester, beside="anyio")
    assert set(done.left) == {"test_leak", "test_override"}
    assert done.outcomes == {"passed": 5, "errors": 2}


def test_forked_tests_are_compared_in_their_processes(pytester: pytest.Pytester) -> None:
    program(pytester, "forked_conftest", as_conftest=True)
    program(pytester, "forked")
    output = run(pytester, "-s").output
    assert [line for line in output.splitlines() if "problems:" in line] == [
        "test_leak problems: 1",
        "test_scope problems: 1",
        "test_clean problems: 0",
    ]


def test_child_of_a_test_changes_nothing_in_the_parent(pytester: pytest.Pytester) -> None:
    program(pytester, "forking_function")
    assert run(pytester, "-W", "ignore::DeprecationWarning").outcomes == {"passed": 1}


def test_each_repetition_of_a_test_is_compared(pytester: pytest.Pytester) -> None:
    program(pytester, "repetitions_conftest", as_conftest=True)
    program(pytester, "repetitions")
    output = run(pytester, "-s").output
    found = [line for line in output.splitlines() if "problems:" in line]
    assert found == [f"test_leaks_twice problems: {number}" for number in (1, 1, 0)]


def test_tests_without_functions_are_compared(pytester: pytest.Pytester) -> None:
    program(pytester, "items_conftest", as_conftest=True)
    (pytester.path / "one.leak").write_text("")
    (pytester.path / "two.txt").write_text(">>> import os\n>>> os.environ['DOCTEST'] = '1'\n")
    done = run(pytester, "--doctest-glob=*.txt")
    assert done.outcomes == {"passed": 2, "errors": 2}
    assert "environ.ITEM: None -> '1'" in done.output
    assert "environ.DOCTEST: None -> '1'" in done.output
