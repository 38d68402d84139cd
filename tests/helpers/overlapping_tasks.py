"""For tests in which scopes of tasks that share a state overlap on purpose."""

import pytest

# A process issues the warning once, so any of these tests may be the one that does.
overlaps_tasks = pytest.mark.filterwarnings(
    "ignore:scopes of two asyncio tasks overlap:interlock.errors.ScopeWarning"
)
