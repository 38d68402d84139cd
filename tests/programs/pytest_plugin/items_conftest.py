import os

import pytest


class Item(pytest.Item):
    def runtest(self):
        os.environ["ITEM"] = "1"


class File(pytest.File):
    def collect(self):
        yield Item.from_parent(self, name="item")


def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".leak":
        return File.from_parent(parent, path=file_path)
