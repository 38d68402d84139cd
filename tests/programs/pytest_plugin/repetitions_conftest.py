import pytest
from _pytest.runner import runtestprotocol


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    # As pytest-rerunfailures does.
    for attempt in range(3):
        item._initrequest()
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        print(item.name, "problems:", sum(report.failed for report in reports))
    return True
