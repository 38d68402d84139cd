import os

import pytest
import pytest_asyncio

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server():
    os.environ["SERVER"] = "1"
    yield
    del os.environ["SERVER"]


async def test_one(server):
    assert os.environ["SERVER"] == "1"


async def test_two(server):
    os.environ["LEFT"] = "1"


async def test_three(server):
    assert "LEFT" not in os.environ
