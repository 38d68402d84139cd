"""The allocator's configuration: class, text form, variables, active values and when keys take effect."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import typing
from collections.abc import Iterator
from typing import Any

import pytest
from interlock._core import accelerator as native
from interlock.accelerator import memory
from interlock.accelerator.memory import AllocatorConfig
from interlock.errors import ArgumentError

from tests.helpers.subprocess import eval_program, eval_python

VARIABLES = ["INTERLOCK_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"]

# A value other than the default for each key, in the text form and in the class.
VALUES: dict[str, tuple[str, Any]] = {
    "backend": ("cudaMallocAsync", "cudaMallocAsync"),
    "max_split_size_mb": ("64", 64),
    "max_non_split_rounding_mb": ("32", 32),
    "large_segment_size_mb": ("18", 18),
    "roundup_power2_divisions": ("[256:1,512:2,>:8]", {256: 1, 512: 2, ">": 8}),
    "garbage_collection_threshold": ("0.8", 0.8),
    "expandable_segments": ("True", True),
    "release_lock_on_cudamalloc": ("True", True),
    "graph_capture_record_stream_reuse": ("True", True),
    "per_process_memory_fraction": ("0.5", 0.5),
    "throw_on_cudamalloc_oom": ("True", True),
    "pinned_use_cuda_host_register": ("True", True),
    "pinned_num_register_threads": ("8", 8),
    "pinned_use_background_threads": ("True", True),
    "pinned_reserve_segment_size_mb": ("16", 16),
    "pinned_max_round_threshold_mb": ("0", 0),
    "pinned_max_cached_size_mb": ("7", 7),
    "pinned_free_catch_all": ("True", True),
}
EVERYTHING = ",".join(f"{key}:{word}" for key, (word, _) in VALUES.items())

WRONG_TEXTS = {
    ",": "key:value pairs with commas between",
    "max_split_size_mb": "max_split_size_mb must be",
    "max_split_size_mb:": "max_split_size_mb must be",
    "max_split_size_mb:19": "got 19",
    "max_split_size_mb:-1": 'got "-1"',
    "max_split_size_mb:99999999999999999999": "max_split_size_mb must be",
    "large_segment_size_mb:64,max_split_size_mb:32": "at least large_segment_size_mb",
    "expandable_segments:true": "True or False",
    "roundup_power2_divisions:[256:1": "one ] follows each [",
    "roundup_power2_divisions:[256:3]": "power of two",
    "garbage_collection_threshold:1": "between 0 and 1",
    "per_process_memory_fraction:nan": "from 0 to 1",
    "backend:none": "native or cudaMallocAsync",
    "max_split_size:32": 'unknown key "max_split_size"; did you mean "max_split_size_mb"?',
    "max_splt_size_mb:32": 'did you mean "max_split_size_mb"?',
    "caching:False": "the keys are backend, max_split_size_mb",
}


@pytest.fixture
def before() -> Iterator[AllocatorConfig]:
    """The active configuration, which is restored after the test."""
    config = memory.get_config()
    yield config
    memory.set_config(config)


def test_every_key_has_a_test_value_and_a_field() -> None:
    keys = native.allocator_keys()
    assert [*VALUES, "caching"] == [key["name"] for key in keys]
    fields = dataclasses.fields(AllocatorConfig)
    assert [(field.name, field.type, field.default) for field in fields] == [
        (key["name"], eval(key["annotation"], vars(typing)), key["default"]) for key in keys
    ]
    assert all(getattr(AllocatorConfig(), key) != value for key, (_, value) in VALUES.items())


@pytest.mark.parametrize("key", VALUES)
def test_one_key_is_equal_in_the_text_and_in_the_class(key: str) -> None:
    word, value = VALUES[key]
    config = AllocatorConfig(**{key: value})
    assert str(config) == f"{key}:{word}"
    assert AllocatorConfig.parse(f" {key} : {word} ,") == config
    held = getattr(AllocatorConfig.parse(f"{key}:{word}"), key)
    assert (held, type(held)) == (value, type(value))
    assert config != AllocatorConfig()


def test_all_keys_are_equal_in_the_text_and_in_the_class() -> None:
    config = AllocatorConfig(**{key: value for key, (_, value) in VALUES.items()})
    assert AllocatorConfig.parse(EVERYTHING) == config
    assert str(config) == EVERYTHING
    assert AllocatorConfig.parse("") == AllocatorConfig()
    assert str(AllocatorConfig()) == ""


def test_configuration_is_a_value() -> None:
    config = AllocatorConfig.parse(EVERYTHING)
    same = [
        pickle.loads(pickle.dumps(config)),
        copy.deepcopy(config),
        AllocatorConfig(**dataclasses.asdict(config)),
    ]
    assert same == [config] * 3
    assert len({config, *same}) == 1
    assert dataclasses.replace(config, max_split_size_mb=None).max_split_size_mb is None
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.max_split_size_mb = 3  # type: ignore[misc]
    with pytest.raises(ArgumentError, match="max_split_size_mb must be"):
        dataclasses.replace(config, max_split_size_mb=3)


def test_roundup_divisions_are_copied_in_order_of_size() -> None:
    given: dict[Any, int] = {">": 8, 512: 2, 256: 1}
    config = AllocatorConfig(roundup_power2_divisions=given)
    given.clear()
    assert str(config) == "roundup_power2_divisions:[256:1,512:2,>:8]"


@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        ("backend", "none", ArgumentError),
        ("backend", None, TypeError),
        ("max_split_size_mb", 19, ArgumentError),
        ("max_split_size_mb", -1, ArgumentError),
        ("max_split_size_mb", 2**64, ArgumentError),
        ("max_split_size_mb", 64.0, TypeError),
        ("max_split_size_mb", "64", TypeError),
        ("max_split_size_mb", True, TypeError),
        ("max_non_split_rounding_mb", 19, ArgumentError),
        ("max_non_split_rounding_mb", None, TypeError),
        ("large_segment_size_mb", 10, ArgumentError),
        ("roundup_power2_divisions", 3, ArgumentError),
        ("roundup_power2_divisions", {}, ArgumentError),
        ("roundup_power2_divisions", {">": 8}, ArgumentError),
        ("roundup_power2_divisions", {300: 1}, ArgumentError),
        ("roundup_power2_divisions", {256: -1}, ArgumentError),
        ("roundup_power2_divisions", [(256, 1)], TypeError),
        ("garbage_collection_threshold", 1, ArgumentError),
        ("garbage_collection_threshold", float("nan"), ArgumentError),
        ("garbage_collection_threshold", 10**400, ArgumentError),
        ("garbage_collection_threshold", True, TypeError),
        ("expandable_segments", 1, TypeError),
        ("expandable_segments", "True", TypeError),
        ("per_process_memory_fraction", 1.5, ArgumentError),
        ("pinned_num_register_threads", 3, ArgumentError),
        ("pinned_num_register_threads", 256, ArgumentError),
        ("pinned_max_cached_size_mb", -1, ArgumentError),
        ("caching", None, TypeError),
    ],
)
def test_config_class_refuses_values_that_a_key_does_not_accept(
    key: str, value: Any, error: type[Exception]
) -> None:
    with pytest.raises(error, match=f"^AllocatorConfig: {key} must be"):
        AllocatorConfig(**{key: value})


def test_config_class_refuses_sizes_that_are_no_int() -> None:
    with pytest.raises(TypeError, match=r"roundup_power2_divisions: a size must be an int, got str"):
        AllocatorConfig(roundup_power2_divisions={"<": 1})  # type: ignore[dict-item]


@pytest.mark.parametrize("text", WRONG_TEXTS)
def test_wrong_text_is_refused_with_the_expected_form(text: str, before: AllocatorConfig) -> None:
    memory.set_config("pinned_free_catch_all:True")
    with pytest.raises(ArgumentError) as raised:
        memory.set_config(f"expandable_segments:True,{text}")
    assert WRONG_TEXTS[text] in str(raised.value)
    assert str(memory.get_config()) == "pinned_free_catch_all:True"


@pytest.mark.parametrize("wrong", [None, 3, b"expandable_segments:True", {"expandable_segments": True}])
def test_set_config_refuses_other_types(wrong: Any, before: AllocatorConfig) -> None:
    with pytest.raises(TypeError, match="set_config: config must be an AllocatorConfig or a str"):
        memory.set_config(wrong)
    assert memory.get_config() == before


def test_unknown_key_is_refused_with_all_known_keys() -> None:
    with pytest.raises(ArgumentError) as raised:
        AllocatorConfig.parse("expandable_segments:True,zzz:1")
    assert all(key in str(raised.value) for key in VALUES)
    assert '"zzz"' in str(raised.value)


def test_set_config_resets_keys_that_are_not_given(before: AllocatorConfig) -> None:
    memory.set_config("roundup_power2_divisions:[256:2,512:4,>:8],max_split_size_mb:64")
    memory.set_config("roundup_power2_divisions:[512:16]")
    assert memory.get_config() == AllocatorConfig(roundup_power2_divisions={512: 16})
    memory.set_config(AllocatorConfig())
    assert memory.get_config() == AllocatorConfig()


@pytest.mark.parametrize("variable", VARIABLES)
def test_variable_sets_every_key(variable: str) -> None:
    text, caching, sources = eval_program(
        "accelerator.memory.variable_sets_every_key", env={variable: EVERYTHING}
    )
    assert (text, caching) == (EVERYTHING, True)
    assert sources == dict.fromkeys(VALUES, variable)


@pytest.mark.parametrize("key", VALUES)
def test_variable_sets_a_key_alone(key: str) -> None:
    text = f"{key}:{VALUES[key][0]}"
    assert eval_program("accelerator.memory.variable_sets_every_key", env={"PYTORCH_ALLOC_CONF": text}) == [
        text,
        True,
        {key: "PYTORCH_ALLOC_CONF"},
    ]


@pytest.mark.parametrize(("first", "second"), [(0, 1), (0, 2), (1, 2)])
def test_only_the_stronger_of_two_variables_is_used(first: int, second: int) -> None:
    env = {VARIABLES[first]: "max_split_size_mb:32", VARIABLES[second]: "max_split_size_mb:64,backend:none"}
    expected = ["max_split_size_mb:32", True, {"max_split_size_mb": VARIABLES[first]}]
    assert eval_program("accelerator.memory.variable_sets_every_key", env=env) == expected
    assert (
        eval_program("accelerator.memory.variable_sets_every_key", env=env | {VARIABLES[second]: ""})
        == expected
    )
    text, _, sources = eval_program(
        "accelerator.memory.variable_sets_every_key",
        env={**env, VARIABLES[first]: "", VARIABLES[second]: "max_split_size_mb:64"},
    )
    assert (text, sources) == ("max_split_size_mb:64", {"max_split_size_mb": VARIABLES[second]})


@pytest.mark.parametrize("variable", VARIABLES)
def test_invalid_variable_raises_until_the_program_sets_a_config(
    variable: str,
) -> None:
    text = "expandable_segments:True,max_splt_size_mb:1"
    *refused, last = eval_program(
        "accelerator.memory.invalid_variable_raises_until_the_program_sets_a_config", env={variable: text}
    )
    assert refused == [refused[0]] * 3
    assert refused[0] == f'{variable}: unknown key "max_splt_size_mb"; did you mean "max_split_size_mb"?'
    assert last == ["max_split_size_mb:64", True, {"max_split_size_mb": "set by the program"}]


def test_variable_that_is_not_unicode_is_reported() -> None:
    assert "PYTORCH_ALLOC_CONF: " in eval_program(
        "accelerator.memory.variable_that_is_not_unicode_is_reported"
    )


@pytest.mark.parametrize("text", ["", "0", "1"])
def test_variable_switches_caching_off_for_good(text: str) -> None:
    variable = "PYTORCH_NO_CUDA_MEMORY_CACHING"
    first, then, acts = eval_program(
        "accelerator.memory.variable_switches_caching_off_for_good", env={variable: text}
    )
    assert first == ["", False, {"caching": variable}]
    assert then[1:] == [False, {"max_split_size_mb": "set by the program", "caching": variable}]
    assert acts == "never"


def test_program_switches_caching_off_and_on(before: AllocatorConfig) -> None:
    memory.set_config(AllocatorConfig(caching=False))
    assert not memory.get_config().caching
    assert memory.config_report()["caching"].source == "set by the program"
    memory.set_config("")
    assert memory.get_config().caching


def test_report_has_value_and_applicability_of_each_key(before: AllocatorConfig) -> None:
    memory.set_config("garbage_collection_threshold:0.5")
    report = memory.config_report()
    assert report["garbage_collection_threshold"][:4] == (0.5, False, "set by the program", "never")
    assert report["garbage_collection_threshold"].reason == "there is no memory limit"
    assert report["large_segment_size_mb"] == (20, True, "default", "on new segments", None)
    assert report["backend"].applies == "never"
    assert all((entry.applies == "never") == bool(entry.reason) for entry in report.values())
    memory.set_config("garbage_collection_threshold:0.5,per_process_memory_fraction:0.5")
    assert memory.config_report()["garbage_collection_threshold"].applies == "now"
    lines = repr(report).splitlines()
    assert [line.split()[0] for line in lines] == ["key", *VALUES, "caching"]


def test_report_initializes_no_driver() -> None:
    code = """
        from interlock import accelerator
        accelerator.memory.config_report(), accelerator.memory.get_config()
        accelerator.use("host", devices=3)
        result = accelerator.device_count()
    """
    assert eval_python(code, env={"INTERLOCK_ACCELERATOR": "host:2"}) == 3


def test_forked_child_inherits_the_config_and_changes_its_own() -> None:
    assert eval_program("accelerator.memory.forked_child_inherits_the_config_and_changes_its_own") == [
        "max_split_size_mb:64 max_split_size_mb:32",
        "max_split_size_mb:64",
    ]


def test_importing_the_accelerator_does_not_import_dataclasses() -> None:
    code = """
        import sys
        from interlock.accelerator import memory
        result = ["dataclasses" in sys.modules, memory.AllocatorConfig() == memory.get_config()]
    """
    assert eval_python(code) == [False, True]
