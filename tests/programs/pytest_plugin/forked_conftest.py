import os

import pytest
from _pytest.runner import runtestprotocol


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    # As pytest-forked does.
    child = os.fork()
    if child == 0:
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        os._exit(sum(report.failed for report in reports))
    _, status = os.waitpid(child, 0)
    print(item.name, "problems:", os.waitstatus_to_exitcode(status))
    return True
