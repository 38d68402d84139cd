"""What fixtures of wider scopes set is no leak of the tests that use them."""

from __future__ import annotations

import pytest

from tests.unit.pytest_plugin.run import at, program, run

pytest_plugins = "pytester"


def test_wider_fixtures_keep_what_they_set_until_their_end(pytester: pytest.Pytester) -> None:
    program(pytester, "wider_fixtures")
    assert run(pytester).outcomes == {"passed": 9}


def test_fixture_that_a_running_test_requests_owns_its_changes(pytester: pytest.Pytester) -> None:
    path = program(pytester, "requested_fixtures")
    done = run(pytester)
    assert done.left == {
        "test_request": [
            f"environ.MINE: None -> '1', written at {at(path, 'test_request', 'MINE')}",
            f"environ.OTHER: None -> '1', written at {at(path, 'test_request', 'OTHER')}",
        ]
    }
    assert done.outcomes == {"passed": 2, "errors": 1}


def test_fixture_of_a_module_that_leaves_changes_is_named(pytester: pytest.Pytester) -> None:
    path = program(pytester, "careless_fixture")
    pytester.makepyfile(test_later="import os\ndef test_later():\n    assert 'LEFT' not in os.environ\n")
    done = run(pytester)
    assert "interlock: the fixture careless (module) left changes, which were put back:" in done.output
    assert done.left == {"test_a": [f"environ.LEFT: None -> '1', written at {at(path, 'careless', 'LEFT')}"]}
    assert done.outcomes == {"passed": 2, "errors": 1}


def test_parametrized_fixture_of_the_session_may_change_between_tests(pytester: pytest.Pytester) -> None:
    program(pytester, "parametrized_fixture")
    assert run(pytester).outcomes == {"passed": 4}


def test_each_fixture_is_reported_with_its_own_line(pytester: pytest.Pytester) -> None:
    path = program(pytester, "lines_of_fixtures")
    done = run(pytester)
    assert done.left == {
        "test_one": [
            f"environ.LEFT: <hidden> -> <hidden>, written at {at(path, 'outer', 'environ')}",
            f"environ.LEFT: None -> <hidden>, written at {at(path, 'inner', 'environ')}",
        ]
    }
    # One error, without lines of pytest.
    assert done.outcomes == {"passed": 1, "errors": 1}
    assert "_pytest" not in done.output
