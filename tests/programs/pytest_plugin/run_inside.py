import os

pytest_plugins = "pytester"


def test_inner_run(pytester):
    os.environ["OUTER"] = "1"
    pytester.makepyfile("import os\ndef test_leak():\n    os.environ['INNER'] = '1'")
    done = pytester.inline_run("--interlock=fail", "-p", "no:cacheprovider")
    done.assertoutcome(passed=1, failed=1)
    assert os.environ["OUTER"] == "1"
    assert "INNER" not in os.environ


def test_after():
    os.environ["AFTER"] = "1"
