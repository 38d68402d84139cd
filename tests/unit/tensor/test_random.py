"""Random numbers and samples: reproducible, equal on every device, and distributed as documented."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import interlock
import numpy as np
import pytest
from interlock import Tensor, accelerator
from interlock.errors import ArgumentError, DeviceError, DTypeError, ShapeError

from tests.helpers import sanitizer
from tools.example_calls import ROWS

COUNT = 20_000

DRAWS: dict[str, Callable[[], Tensor]] = {
    "rand_like": lambda: interlock.rand_like(interlock.zeros(50)),
    "randn_like": lambda: interlock.randn_like(interlock.zeros(50)),
    "randint": lambda: interlock.randint(-5, 1000, (50,)),
    "randint_like": lambda: interlock.randint_like(interlock.zeros(50), 1000),
    "randperm": lambda: interlock.randperm(50),
    "bernoulli": lambda: interlock.bernoulli(interlock.full((50,), 0.5)),
    "bernoulli of one probability": lambda: interlock.zeros(50).bernoulli(0.5),
    "multinomial": lambda: interlock.multinomial(interlock.ones(50), 20),
    "multinomial with replacement": lambda: interlock.ones(2, 50).multinomial(20, replacement=True),
    "bernoulli_": lambda: interlock.zeros(50).bernoulli_(),
    "bernoulli_ of probabilities": lambda: interlock.zeros(2, 50).bernoulli_(interlock.full((50,), 0.5)),
    "normal_": lambda: interlock.zeros(50).normal_(),
    "uniform_": lambda: interlock.zeros(50).uniform_(-1, 1),
}


@pytest.mark.parametrize("name", DRAWS)
def test_numbers_repeat_and_do_not_depend_on_the_device(name: str, devices: tuple[str, str]) -> None:
    def drawn() -> list[object]:
        interlock.manual_seed(3)
        return DRAWS[name]().tolist()  # type: ignore[no-any-return]

    first = drawn()
    assert drawn() == first
    assert DRAWS[name]().tolist() != first
    with interlock.device(devices[1]):
        assert drawn() == first


@pytest.mark.parametrize("name", DRAWS)
def test_draws_are_queued_on_the_stream_and_replayed(name: str, devices: tuple[str, str]) -> None:
    with interlock.device(devices[1]), interlock.Stream(devices[1]):
        graph = accelerator.Graph()
        with graph:
            made = DRAWS[name]()
        graph.replay()
        assert made.numel() >= 20


WITH_GENERATOR: dict[str, Callable[..., Tensor]] = {
    "rand": lambda **given: interlock.rand(50, **given),
    "randn": lambda **given: interlock.randn((50,), **given),
    "rand_like": lambda **given: interlock.rand_like(interlock.zeros(50), **given),
    "randn_like": lambda **given: interlock.randn_like(interlock.zeros(50), **given),
    "randint": lambda **given: interlock.randint(1000, (50,), **given),
    "randint_like": lambda **given: interlock.randint_like(interlock.zeros(50), 1000, **given),
    "randperm": lambda **given: interlock.randperm(50, **given),
    "bernoulli": lambda **given: interlock.bernoulli(interlock.full((50,), 0.5), **given),
    "bernoulli of one probability": lambda **given: interlock.zeros(50).bernoulli(0.5, **given),
    "multinomial": lambda **given: interlock.multinomial(interlock.ones(50), 20, **given),
    "bernoulli_": lambda **given: interlock.zeros(50).bernoulli_(**given),
    "bernoulli_ of probabilities": lambda **given: interlock.zeros(50).bernoulli_(
        interlock.full((50,), 0.5), **given
    ),
    "normal_": lambda **given: interlock.zeros(50).normal_(**given),
    "uniform_": lambda **given: interlock.zeros(50).uniform_(-1, 1, **given),
}


@pytest.mark.parametrize("name", WITH_GENERATOR)
def test_generator_draws_instead_of_the_default_one(name: str, devices: tuple[str, str]) -> None:
    draw = WITH_GENERATOR[name]
    default = interlock.manual_seed(3)
    assert default is interlock.default_generator
    expected = draw().tolist()
    state = default.get_state()
    generator = interlock.Generator().manual_seed(3)
    assert draw(generator=generator).tolist() == expected
    assert draw(generator=generator).tolist() != expected
    assert default.get_state().tolist() == state.tolist()
    assert draw(generator=default.manual_seed(3)).tolist() == expected
    with interlock.device(devices[1]):
        on_device = interlock.Generator(devices[1]).manual_seed(3)
        assert draw(generator=on_device).tolist() == expected
        with pytest.raises(ArgumentError, match=r"generator must be for devices of type .*, got one for cpu"):
            draw(generator=generator)


HUGE = 2**60
# Its memory does not grow.
SHARED = interlock.from_numpy(np.zeros(1, dtype=np.int64))

# Calls that raise, without `generator`.
RAISING: dict[str, list[Callable[..., object]]] = {
    "rand": [
        lambda **given: interlock.rand(-1, **given),
        lambda **given: interlock.rand(2, dtype=interlock.int64, **given),
        lambda **given: interlock.rand(HUGE, **given),
    ],
    "randn": [
        lambda **given: interlock.randn(2, dtype=interlock.int64, **given),
        lambda **given: interlock.randn(HUGE, **given),
    ],
    "rand_like": [lambda **given: interlock.rand_like(interlock.zeros(1).expand(HUGE), **given)],
    "randn_like": [lambda **given: interlock.randn_like(interlock.zeros(1).expand(HUGE), **given)],
    "randint": [
        lambda **given: interlock.randint(3, 3, (2,), **given),
        lambda **given: interlock.randint(3, (2,), requires_grad=True, **given),
        lambda **given: interlock.randint(3, (HUGE,), dtype=interlock.int8, **given),
    ],
    "randint_like": [
        lambda **given: interlock.randint_like(interlock.zeros(2), 3, 2, **given),
        lambda **given: interlock.randint_like(interlock.zeros(1).expand(HUGE), 3, **given),
    ],
    "randperm": [
        lambda **given: interlock.randperm(5, dtype=interlock.bool, **given),
        lambda **given: interlock.randperm(5, requires_grad=True, **given),
        lambda **given: interlock.randperm(HUGE, **given),
    ],
    "bernoulli": [
        lambda **given: interlock.tensor([0.5, 2.0]).bernoulli(**given),
        lambda **given: interlock.zeros(2).bernoulli(2.0, **given),
        lambda **given: interlock.zeros(1).expand(HUGE).bernoulli(**given),
        lambda **given: interlock.zeros(1).expand(HUGE).bernoulli(0.5, **given),
        lambda **given: interlock.bernoulli(interlock.zeros(2), out=interlock.zeros(2).long(), **given),
        lambda **given: interlock.bernoulli(interlock.zeros(2), out=interlock.zeros(1).expand(2), **given),
        lambda **given: interlock.bernoulli((v := interlock.zeros(3))[:2], out=v[1:], **given),
        lambda **given: interlock.bernoulli(
            interlock.zeros(3).double(), out=interlock.from_numpy(np.zeros(1)), **given
        ),
    ],
    "multinomial": [
        lambda **given: interlock.tensor([1.0, -1.0]).multinomial(1, **given),
        lambda **given: interlock.zeros(2).multinomial(1, True, **given),
        lambda **given: interlock.ones(2).multinomial(3, **given),
        lambda **given: interlock.ones(2).multinomial(HUGE, True, **given),
        lambda **given: interlock.multinomial(interlock.ones(2), 2, out=interlock.zeros(2), **given),
        lambda **given: interlock.multinomial(interlock.ones(3), 2, out=SHARED, **given),
        lambda **given: interlock.multinomial(interlock.ones(3), HUGE, True, out=SHARED, **given),
        lambda **given: interlock.multinomial(interlock.ones(3), -1, True, out=SHARED, **given),
    ],
    "bernoulli_": [
        lambda **given: interlock.zeros(2).bernoulli_(2.0, **given),
        lambda **given: interlock.zeros(2).bernoulli_(interlock.tensor([0.5, 2.0]), **given),
        lambda **given: interlock.zeros(2, requires_grad=True).bernoulli_(**given),
        lambda **given: interlock.zeros(2, requires_grad=True).bernoulli_(interlock.zeros(2), **given),
        lambda **given: interlock.zeros(1).expand(2).bernoulli_(interlock.zeros(2), **given),
    ],
    "normal_": [
        lambda **given: interlock.zeros(2).normal_(0.0, -1.0, **given),
        lambda **given: interlock.zeros(2, dtype=interlock.int64).normal_(**given),
        lambda **given: interlock.zeros(2, requires_grad=True).normal_(**given),
        lambda **given: interlock.zeros(1).expand(2).normal_(**given),
    ],
    "uniform_": [
        lambda **given: interlock.zeros(2).uniform_(2.0, 1.0, **given),
        lambda **given: interlock.zeros(2, dtype=interlock.int64).uniform_(**given),
        lambda **given: interlock.zeros(2, requires_grad=True).uniform_(**given),
        lambda **given: interlock.zeros(1).expand(2).uniform_(**given),
    ],
}

# Calls whose results have no elements, or one that is no choice.
EMPTY: dict[str, list[Callable[..., object]]] = {
    "rand": [lambda **given: interlock.rand(2, 0, **given)],
    "randn": [lambda **given: interlock.randn(0, **given)],
    "rand_like": [lambda **given: interlock.rand_like(interlock.zeros(0), **given)],
    "randn_like": [lambda **given: interlock.randn_like(interlock.zeros(0, 2), **given)],
    "randint": [lambda **given: interlock.randint(3, (0,), **given)],
    "randint_like": [lambda **given: interlock.randint_like(interlock.zeros(0), 3, **given)],
    "randperm": [
        lambda **given: interlock.randperm(0, **given),
        lambda **given: interlock.randperm(1, **given),
    ],
    "bernoulli": [
        lambda **given: interlock.zeros(0).bernoulli(**given),
        lambda **given: interlock.zeros(0).bernoulli(0.5, **given),
    ],
    "multinomial": [
        lambda **given: interlock.zeros(0, 3).multinomial(2, **given),
        lambda **given: interlock.zeros(0, 3).multinomial(2, True, **given),
    ],
    "bernoulli_": [
        lambda **given: interlock.zeros(0).bernoulli_(**given),
        lambda **given: interlock.zeros(0).bernoulli_(interlock.zeros(0), **given),
    ],
    "normal_": [lambda **given: interlock.zeros(0).normal_(**given)],
    "uniform_": [lambda **given: interlock.zeros(0).uniform_(**given)],
}


def test_every_function_with_a_generator_is_in_the_lists() -> None:
    takers = set()
    for row in ROWS:
        if "generator: Generator" in row["signature"]:
            takers |= {row["name"] + ("_" if form == "inplace" else "") for form in row["forms"].split()[:1]}
    assert takers
    assert takers == set(RAISING) == set(EMPTY)
    assert takers == {name.split()[0] for name in WITH_GENERATOR}


@pytest.mark.skipif(sanitizer.IS_PRELOADED, reason="AddressSanitizer refuses large sizes")
@pytest.mark.parametrize("name", RAISING)
def test_call_that_raises_does_not_advance_the_generator(name: str) -> None:
    generator = interlock.Generator()
    for call in RAISING[name]:
        for drawing in (generator, interlock.default_generator):
            state = drawing.get_state()
            with pytest.raises((RuntimeError, ValueError, NotImplementedError)):
                call(generator=drawing)
            assert drawing.get_state().tolist() == state.tolist()


@pytest.mark.parametrize("name", EMPTY)
def test_call_that_draws_nothing_does_not_advance_the_generator(name: str) -> None:
    generator = interlock.Generator()
    for call in EMPTY[name]:
        state = generator.get_state()
        call(generator=generator)
        assert generator.get_state().tolist() == state.tolist()


def test_dropout_advances_the_default_generator_only_if_it_draws() -> None:
    dropout = interlock.nn.functional.dropout
    state = interlock.get_rng_state().tolist()
    dropout(interlock.zeros(0))
    dropout(interlock.zeros(2), 0.0)
    dropout(interlock.zeros(2), 1.0)
    leaf = interlock.zeros(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        dropout(leaf, inplace=True)
    assert interlock.get_rng_state().tolist() == state
    dropout(interlock.zeros(2))
    assert interlock.get_rng_state().tolist() != state


def test_state_of_the_default_generator_is_read_and_set() -> None:
    interlock.manual_seed(5)
    assert interlock.initial_seed() == 5
    state = interlock.get_rng_state()
    assert (state.dtype, state.is_cpu) == (interlock.uint8, True)
    assert state.tolist() == interlock.default_generator.get_state().tolist()
    drawn = interlock.rand(3).tolist()
    assert interlock.get_rng_state().tolist() != state.tolist()
    interlock.set_rng_state(state)
    assert interlock.rand(3).tolist() == drawn
    interlock.set_rng_state(interlock.Generator().manual_seed(6).get_state())
    assert interlock.initial_seed() == 6


WRONG_STATES: list[tuple[object, type[Exception], str]] = [
    (interlock.zeros(16), TypeError, "must be a tensor of dtype uint8, got one of float32"),
    (interlock.zeros(3).byte(), ArgumentError, "must have 16 elements, got 3"),
    (b"0" * 16, TypeError, "must be a Tensor, got bytes"),
]


@pytest.mark.parametrize(("state", "error", "message"), WRONG_STATES)
def test_wrong_states_are_refused(state: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^set_rng_state: new_state {message}$"):
        interlock.set_rng_state(state)
    with pytest.raises(error, match=rf"^Generator\.set_state: new_state {message}$"):
        interlock.Generator().set_state(state)


def test_generator_names_a_device_that_it_does_not_have() -> None:
    with pytest.raises(DeviceError, match=r'^Generator: unknown device "foo"; available here: cpu'):
        interlock.Generator("foo")
    with pytest.raises(TypeError, match=r"^Generator: device must be a device, a str or an int, got float$"):
        interlock.Generator(2.5)  # type: ignore[arg-type]


def test_generator_has_a_seed_and_a_state() -> None:
    generator = interlock.Generator("cpu")
    assert generator.device == interlock.device("cpu")
    assert generator.manual_seed(-1) is generator
    assert generator.initial_seed() == 2**64 - 1
    seeds = {generator.seed() for _ in range(8)}
    assert len(seeds) == 8
    assert generator.initial_seed() in seeds
    state = generator.get_state()
    assert (state.dtype, state.is_cpu) == (interlock.uint8, True)
    drawn = interlock.rand(3, generator=generator).tolist()
    for other in (
        interlock.Generator().set_state(state),
        generator.set_state(state).clone_state(),
        copy.deepcopy(generator),
        copy.copy(generator),
        pickle.loads(pickle.dumps(generator)),
    ):
        assert other is not generator
        assert other.initial_seed() == generator.initial_seed()
        assert interlock.rand(3, generator=other).tolist() == drawn
    assert generator.get_state().tolist() == state.tolist()


def test_default_generator_follows_manual_seed() -> None:
    interlock.manual_seed(9)
    assert interlock.default_generator.initial_seed() == 9
    clone = interlock.default_generator.clone_state()
    assert interlock.rand(3).tolist() == interlock.rand(3, generator=clone).tolist()


def test_replays_repeat_the_mask_of_dropout(devices: tuple[str, ...]) -> None:
    x, graph, stream = (
        interlock.ones(64, device=devices[0]),
        accelerator.Graph(),
        interlock.Stream(devices[0]),
    )
    accelerator.synchronize(devices[0])
    with stream, graph:
        out = interlock.nn.functional.dropout(x, 0.5)
    masks = []
    for _ in range(2):
        graph.replay()
        accelerator.synchronize(devices[0])
        masks.append(out.tolist())
    assert masks[0] == masks[1]
    assert 0.0 in masks[0]


def mean(x: Tensor) -> float:
    return float(x.double().mean().item())


@pytest.mark.parametrize("name", ["rand", "randn"])
def test_numbers_of_neighbouring_seeds_are_independent(name: str) -> None:
    def drawn(seed: int) -> Any:
        interlock.manual_seed(seed)
        return getattr(interlock, name)(4000).numpy()

    found = np.corrcoef([drawn(seed) for seed in range(16)])
    # Five standard deviations.
    assert np.abs(found - np.eye(16)).max() < 5 / 4000**0.5


def test_numbers_have_the_documented_distributions() -> None:
    interlock.manual_seed(1)
    x = interlock.empty(COUNT)
    assert abs(mean(interlock.rand_like(x)) - 0.5) < 0.02
    assert abs(mean(interlock.randn_like(x) ** 2) - 1) < 0.05
    assert abs(mean(x.normal_(2.0, 3.0)) - 2) < 0.1
    assert abs(mean((x - 2) ** 2) - 9) < 0.4
    uniform = x.uniform_(-2.0, 4.0)
    assert abs(mean(uniform) - 1) < 0.1
    assert -2 <= uniform.min().item() < uniform.max().item() < 4
    assert abs(mean(x.bernoulli_(0.3)) - 0.3) < 0.02
    assert abs(mean(interlock.full((COUNT,), 0.3).bernoulli()) - 0.3) < 0.02
    assert abs(mean(x.bernoulli(0.3)) - 0.3) < 0.02
    integers = interlock.randint(-3, 5, (COUNT,)).numpy()
    numbers, counts = np.unique(integers, return_counts=True)
    assert numbers.tolist() == list(range(-3, 5))
    assert np.abs(counts - COUNT / 8).max() < 300
    samples = interlock.multinomial(interlock.tensor([1.0, 0.0, 3.0]), COUNT, replacement=True).numpy()
    assert np.bincount(samples, minlength=3)[1] == 0
    assert abs(samples.mean() - 1.5) < 0.05
    rows = interlock.tensor([[0.0, 1.0], [5.0, 0.0]]).multinomial(9, replacement=True)
    assert rows.tolist() == [[1] * 9, [0] * 9]
    certain = interlock.tensor([[0.0], [1.0]]).expand(2, 9)
    assert certain.bernoulli().tolist() == certain.tolist()
    assert interlock.zeros(2, 9).long().bernoulli_(certain).tolist() == certain.tolist()
    firsts = interlock.tensor([[1.0, 2.0, 7.0]]).expand(COUNT, 3).multinomial(2)[:, 0].numpy()
    assert np.abs(np.bincount(firsts) / COUNT - [0.1, 0.2, 0.7]).max() < 0.02


def test_numbers_of_a_pair_are_independent_and_those_of_a_longer_tensor() -> None:
    interlock.manual_seed(7)
    drawn = interlock.randn(COUNT, dtype=interlock.float64)
    assert abs(mean(drawn.view(-1, 2).prod(1))) <= 0.04
    assert abs(mean((drawn.abs() > 2).double()) - 0.0455) < 0.01
    for shorter in (1, 255, 257):
        interlock.manual_seed(7)
        assert interlock.randn(shorter, dtype=interlock.float64).equal(drawn[:shorter])


@pytest.mark.parametrize("dtype", [interlock.float16, interlock.bfloat16])
def test_uniform_numbers_are_less_than_their_bound(dtype: interlock.dtype) -> None:
    assert (interlock.rand(COUNT, dtype=dtype) < 1).all()
    x = interlock.zeros(COUNT, dtype=dtype).uniform_(1, 2)
    assert ((x >= 1) & (x < 2)).all()
    assert (x.uniform_(3, 3) == 3).all()


def test_multinomial_without_replacement_draws_each_index_once() -> None:
    weights = interlock.tensor([0.0, 0.5, 0.25, 0.25])
    for _ in range(20):
        drawn = weights.multinomial(4).tolist()
        assert sorted(drawn) == [0, 1, 2, 3]
        assert drawn[3] == 0
    assert interlock.zeros(0, 3).multinomial(2).shape == (0, 2)
    assert interlock.ones(3, dtype=interlock.float16).multinomial(2).dtype == interlock.int64
    drawn = interlock.randperm(100).tolist()
    assert drawn != sorted(drawn) == list(range(100))
    assert interlock.randperm(0).shape == (0,)


def test_results_have_the_shape_dtype_and_memory_order_of_pytorch() -> None:
    x = interlock.zeros(2, 3).t()
    for like in (interlock.rand_like, interlock.randn_like, interlock.empty_like):
        assert (like(x).shape, like(x).stride()) == ((3, 2), (1, 3))
    assert interlock.randint_like(x, 1, 3).stride() == (1, 3)
    assert interlock.randint_like(x, 3).dtype == interlock.float32
    assert interlock.rand_like(x.long(), dtype=interlock.float64).dtype == interlock.float64
    assert interlock.randint(3, (2,)).dtype == interlock.int64
    assert interlock.randint(low=1, high=3, size=(2,), dtype=interlock.float16).dtype == interlock.float16
    assert interlock.randint(-(2**63), 2**63 - 1, (2,)).dtype == interlock.int64
    assert interlock.randint(2, (2,), dtype=interlock.bool).dtype == interlock.bool
    assert interlock.randperm(2049, dtype=interlock.float16).dtype == interlock.float16
    assert interlock.randint(high=3, size=(2, 1)).shape == (2, 1)
    assert interlock.randperm(3, dtype=interlock.float32).dtype == interlock.float32
    assert x.bernoulli(0.5).stride() == (2, 1)
    assert x.long().bernoulli(0.5).dtype == interlock.int64
    assert interlock.rand_like(x, requires_grad=True).requires_grad


def test_changes_in_place_count_versions_and_have_no_gradient() -> None:
    leaf = interlock.ones(3, requires_grad=True)
    changes: list[Callable[[Tensor], Tensor]] = [
        lambda x: x.normal_(),
        lambda x: x.uniform_(),
        lambda x: x.bernoulli_(),
        lambda x: x.bernoulli_(interlock.full((3,), 0.5)),
    ]
    for change in changes:
        x = leaf * 1
        assert change(x) is x
        assert x._version == 1
        assert x.requires_grad
        x.sum().backward()
        assert leaf.grad is not None
        assert leaf.grad.tolist() == [0.0] * 3
        with pytest.raises(RuntimeError, match="leaf"):
            change(leaf)
        with pytest.raises(RuntimeError, match="share"):
            change(interlock.zeros(1).expand(3))
    x = interlock.zeros(3)
    x[1:].uniform_(2.0, 3.0)
    assert x[0].item() == 0
    assert x[1:].min().item() >= 2


REFUSED: list[tuple[Callable[[Tensor], object], type[Exception]]] = [
    (lambda x: interlock.rand_like(x.long()), DTypeError),
    (lambda x: interlock.randint(3, 3, (2,)), ArgumentError),
    (lambda x: interlock.randint(0, (2,)), ArgumentError),
    (lambda x: interlock.randint(3), TypeError),
    (lambda x: interlock.randint((2,)), TypeError),  # type: ignore[arg-type]
    (lambda x: interlock.randint(2.5, (2,)), TypeError),  # type: ignore[arg-type]
    (lambda x: interlock.randint(0, 3, (2,), dtype=interlock.bool), ArgumentError),
    (lambda x: interlock.randint(0, 10**6, (2,), dtype=interlock.float16), ArgumentError),
    (lambda x: interlock.randint(3, (-2,)), ArgumentError),
    (lambda x: interlock.randint_like(x, 3, 2), ArgumentError),
    (lambda x: interlock.randint_like(x), TypeError),
    (lambda x: interlock.randperm(-1), ArgumentError),
    (lambda x: interlock.randperm(2051, dtype=interlock.float16), ArgumentError),
    (lambda x: interlock.randperm(2, dtype=interlock.bool), DTypeError),
    (lambda x: (x - 1).bernoulli(), ArgumentError),
    (lambda x: (x / 0).bernoulli(), ArgumentError),
    (lambda x: x.long().bernoulli(), DTypeError),
    (lambda x: x.bernoulli(1.5), ArgumentError),
    (lambda x: x.bernoulli_(-0.5), ArgumentError),
    (lambda x: x.bernoulli_(interlock.ones(5)), ShapeError),
    (lambda x: x.bernoulli_(interlock.ones(3).long()), DTypeError),
    (lambda x: x.normal_(0.0, -1.0), ArgumentError),
    (lambda x: x.long().normal_(), DTypeError),
    (lambda x: x.uniform_(2.0, 1.0), ArgumentError),
    (lambda x: x.uniform_(0.0, float("inf")), ArgumentError),
    (lambda x: x.half().uniform_(0.0, 1e6), ArgumentError),
    (lambda x: x.long().uniform_(), DTypeError),
    (lambda x: x.multinomial(1), ArgumentError),
    (lambda x: (x + 1).multinomial(0), ArgumentError),
    (lambda x: (x + 1).multinomial(4), ArgumentError),
    (lambda x: (x - 1).multinomial(1, True), ArgumentError),
    (lambda x: ((x + 1) / 0).multinomial(1), ArgumentError),
    (lambda x: (x / 0).multinomial(1), ArgumentError),
    (lambda x: interlock.zeros(0).multinomial(1), ShapeError),
    (lambda x: (x + 1).long().multinomial(1), DTypeError),
    (lambda x: (x + 1).unsqueeze(0).multinomial(1), ShapeError),
    (lambda x: (x + 1).sum().multinomial(1), ShapeError),
]


@pytest.mark.parametrize(("refused", "error"), REFUSED)
def test_arguments_that_do_not_fit_are_refused(
    refused: Callable[[Tensor], object], error: type[Exception]
) -> None:
    x = interlock.zeros(2, 3)
    with pytest.raises(error):
        refused(x)
    assert x._version == 0


def test_wrong_probabilities_on_a_device_are_asynchronous_errors(devices: tuple[str, str]) -> None:
    wrong = interlock.full((2,), 1.5, device=devices[1])
    with pytest.raises(RuntimeError, match="probability"):
        wrong.bernoulli().tolist()
    with pytest.raises(RuntimeError, match="weight"):
        (-wrong).multinomial(1).tolist()
