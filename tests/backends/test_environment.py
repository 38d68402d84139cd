"""Flags from the environment: read once, below what is assigned, a value that does not parse is warned of."""

from __future__ import annotations

import pytest

from tests import child
from tests.flag_table import BY_NAME, STORED, Flag, ids

READ = """
    from interlock import backends
    answer = list(backends.explain({name!r})[1:3])
"""


def text_of(value: object) -> str:
    return {True: "1", False: "0"}[value] if isinstance(value, bool) else str(value)


@pytest.mark.parametrize("flag", STORED, ids=ids)
def test_a_flag_takes_its_value_from_its_variable(flag: Flag) -> None:
    got = child.value(READ.format(name=flag.name), env={flag.variable: text_of(flag.other)})
    assert got == [flag.other, "environment"]


@pytest.mark.parametrize(("text", "value"), [("0", False), ("1", True), ("false", False), ("true", True)])
def test_the_spellings_of_a_bool(text: str, value: bool) -> None:
    env = {"INTERLOCK_CUDNN_ENABLED": text, "INTERLOCK_MKLDNN_DETERMINISTIC": text}
    code = """
        from interlock import backends
        answer = [backends.cudnn.enabled, backends.mkldnn.deterministic]
        answer.append(backends.explain("cudnn.enabled").level)
    """
    assert child.value(code, env=env) == [value, value, "environment"]


WRONG = {
    "cudnn.enabled": "maybe",
    "cudnn.benchmark_limit": "many",
    "cudnn.depthwise_kernel": "fast",
    "fp32_precision": "bogus",
    "cudnn.conv.fp32_precision": "bf16",
    "cuda.matmul.allow_fp16_accumulation": "",
}


@pytest.mark.parametrize(("name", "text"), WRONG.items())
def test_a_value_that_does_not_parse_is_warned_of_once_and_counts_as_unset(name: str, text: str) -> None:
    code = f"""
        import warnings
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            import interlock
            from interlock import backends, errors
            again = backends.{name}
            found = backends.explain({name!r})
        ours = [each for each in caught if issubclass(each.category, errors.FlagEnvironmentWarning)]
        assert issubclass(errors.FlagEnvironmentWarning, UserWarning)
        answer = [found.value, found.level, [str(each.message) for each in ours], len(caught)]
    """
    flag = BY_NAME[name]
    value, level, messages, warnings = child.value(code, env={flag.variable: text})
    assert (value, level) == (flag.default, "default")
    assert (len(messages), warnings) == (1, 1)
    assert flag.variable in messages[0]
    assert text in messages[0]


def test_a_bad_variable_does_not_disturb_the_good_ones() -> None:
    code = """
        from interlock import backends
        print(backends.cudnn.enabled, backends.cudnn.benchmark_limit)
    """
    env = {"INTERLOCK_CUDNN_ENABLED": "0", "INTERLOCK_CUDNN_BENCHMARK_LIMIT": "many"}
    done = child.run(code, env=env)
    assert done.code == 0, done.stderr
    assert done.stdout == "False 10\n"
    assert done.stderr.count("INTERLOCK_CUDNN_BENCHMARK_LIMIT") >= 1


def test_the_environment_is_below_what_is_assigned_and_comes_back_when_that_is_dropped() -> None:
    code = """
        from interlock import backends
        level = lambda: [backends.cudnn.enabled, str(backends.explain("cudnn.enabled").level)]
        answer = [level()]
        backends.cudnn.enabled = True
        answer.append(level())
        with backends.override(**{"cudnn.enabled": False}):
            answer.append(level())
            del backends.cudnn.enabled
            answer.append(backends.cudnn.enabled)
        answer.append(level())
        del backends.cudnn.enabled
        answer.append(level())
        backends.cudnn.enabled = True
        backends.reset()
        answer.append(level())
    """
    assert child.value(code, env={"INTERLOCK_CUDNN_ENABLED": "0"}) == [
        [False, "environment"],
        [True, "process"],
        [False, "scope"],
        False,
        [True, "process"],
        [False, "environment"],
        [False, "environment"],
    ]


def test_the_environment_is_read_once() -> None:
    code = """
        import os
        import interlock
        from interlock import backends
        before = backends.cudnn.enabled
        os.environ["INTERLOCK_CUDNN_ENABLED"] = "1"
        os.environ["INTERLOCK_CUDNN_BENCHMARK"] = "1"
        answer = [before, backends.cudnn.enabled, backends.cudnn.benchmark]
        backends.reset()
        answer += [backends.cudnn.enabled, backends.cudnn.benchmark]
    """
    assert child.value(code, env={"INTERLOCK_CUDNN_ENABLED": "0"}) == [False, False, False, False, False]


def test_the_precision_walk_starts_from_what_each_node_holds_with_its_environment() -> None:
    code = """
        import interlock
        from interlock import backends
        answer = [backends.cudnn.conv.fp32_precision, backends.cudnn.rnn.fp32_precision,
                  backends.mkldnn.matmul.fp32_precision, backends.cudnn.allow_tf32]
        backends.cudnn.fp32_precision = "tf32"
        answer += [backends.cudnn.conv.fp32_precision, backends.cudnn.rnn.fp32_precision]
    """
    env = {"INTERLOCK_FP32_PRECISION": "ieee", "INTERLOCK_CUDNN_RNN_FP32_PRECISION": "tf32"}
    assert child.value(code, env=env) == ["ieee", "tf32", "ieee", False, "tf32", "tf32"]


def test_a_variable_shows_in_the_snapshot_as_its_level_and_is_not_assigned_by_restore() -> None:
    code = """
        from interlock import backends
        taken = backends.snapshot()
        backends.cudnn.enabled = True
        backends.restore(taken)
        answer = list(backends.explain("cudnn.enabled")[1:3])
    """
    assert child.value(code, env={"INTERLOCK_CUDNN_ENABLED": "0"}) == [False, "environment"]


def test_an_unknown_variable_is_left_alone() -> None:
    done = child.run("import interlock", env={"INTERLOCK_NO_SUCH_THING": "1"}, options=["-W", "error"])
    assert (done.code, done.stdout, done.stderr) == (0, "", "")
