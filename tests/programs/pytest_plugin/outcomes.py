import os

import pytest


@pytest.fixture
def crashing():
    yield
    raise ValueError("in the teardown")


@pytest.fixture
def failing():
    os.environ["FIXTURE"] = "1"
    raise ValueError("in the setup")


def leak():
    os.environ["LEFT"] = "1"


def test_failed():
    leak()
    assert False


def test_skipped():
    leak()
    pytest.skip("later")


@pytest.mark.xfail
def test_xfailed():
    leak()
    assert False


@pytest.mark.xfail(strict=True)
def test_xfailed_in_teardown(crashing):
    leak()
    assert False


def test_crashed(crashing):
    leak()


def test_not_set_up(failing):
    pass


@pytest.mark.skip
def test_not_run():
    leak()


@pytest.mark.xfail
def test_clean_xfailed():
    assert False


def test_clean():
    assert not {"LEFT", "FIXTURE"} & os.environ.keys()
