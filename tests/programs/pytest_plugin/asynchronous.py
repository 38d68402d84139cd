import asyncio
import os

import interlock
import pytest
from flavour import fixture, mark
from interlock import settings

config = {"level": 1}


def write(new):
    config["level"] = new


settings.register(settings.Setting("mylib.level", get=lambda: config["level"], set=write))


@fixture
async def resource():
    os.environ["FIXTURE"] = "1"
    with settings.override({"mylib.level": 2}):
        yield
    del os.environ["FIXTURE"]


@mark
async def test_clean(resource):
    assert config["level"] == 2
    with interlock.no_grad():
        pass


@mark
async def test_leak(resource):
    os.environ["LEFT"] = "1"


@mark
async def test_override():
    settings.override({"mylib.level": 3}).__enter__()


@mark
async def test_scope_of_a_task_ends_with_it():
    interlock.no_grad().__enter__()


def test_after():
    assert not {"FIXTURE", "LEFT"} & os.environ.keys()
    assert config["level"] == 1
    assert interlock.is_grad_enabled()
