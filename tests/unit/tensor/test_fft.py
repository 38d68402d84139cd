"""Fourier transforms, against their definition."""

from __future__ import annotations

import cmath
import itertools
import math
import re
from collections.abc import Callable, Iterator

import interlock
import pytest
from interlock import autograd, dispatch, errors, fft
from interlock.backends.cuda import cufft_plan_cache, cuFFTPlanCache

FACTORS = {
    None: lambda n: (1.0, 1 / n),
    "backward": lambda n: (1.0, 1 / n),
    "ortho": lambda n: (n**-0.5, n**-0.5),
    "forward": lambda n: (1 / n, 1.0),
}


def definition(signal: list[complex], sign: int, factor: float) -> list[complex]:
    """Return the transform of a signal by the sum that defines it."""
    n = len(signal)
    terms = [
        [cmath.exp(sign * 2j * math.pi * (k * t % n) / n) * x for t, x in enumerate(signal)] for k in range(n)
    ]
    return [factor * sum(each) for each in terms]


def pairs(numbers: list[complex]) -> list[list[float]]:
    return [[number.real, number.imag] for number in numbers]


def signal(*shape: int, dtype: interlock.dtype = interlock.float64) -> interlock.Tensor:
    """Return numbers of one sequence, which are neither sorted nor symmetric."""
    count = math.prod(shape)
    return interlock.tensor([math.sin(3.0 * k * k + 1) for k in range(count)], dtype=dtype).reshape(shape)


def close(actual: interlock.Tensor, expected: object, tolerance: float = 1e-12) -> None:
    wanted = interlock.tensor(expected, dtype=interlock.float64).to(actual.dtype)
    assert actual.shape == wanted.shape
    assert interlock.allclose(actual, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 8, 10, 11, 12, 22, 35, 64, 97, 134, 243])
def test_transforms_along_one_dimension_are_the_sums_of_their_definition(n: int, norm: str | None) -> None:
    x = signal(n, 2)
    numbers = [complex(*pair) for pair in x.tolist()]
    forward, inverse = FACTORS[norm](n)
    close(fft.fft(x, norm=norm), pairs(definition(numbers, -1, forward)))
    close(fft.ifft(x, norm=norm), pairs(definition(numbers, 1, inverse)))
    real = [number.real for number in numbers]
    half = definition([complex(number) for number in real], -1, forward)[: n // 2 + 1]
    close(fft.rfft(x[:, 0], norm=norm), pairs(half))
    close(fft.irfft(fft.rfft(x[:, 0], norm=norm), n, norm=norm), real)


def test_numbers_of_a_half_spectrum_that_are_their_own_mirrors_are_real() -> None:
    assert fft.rfft(interlock.tensor([0.0, 1.0, 0.0, 0.0])).tolist() == [[1.0, 0.0], [0.0, -1.0], [-1.0, 0.0]]


def test_several_dimensions_are_transformed_one_after_another() -> None:
    x = signal(3, 4, 5, 2)
    for dims in [(0, 1), (2, 0), (-1, -2), (0, 1, 2), (1,)]:
        expected = x
        for dim in dims:
            expected = fft.fft(expected, dim=dim)
        close(fft.fftn(x, dim=dims), expected.tolist())
        close(fft.ifftn(fft.fftn(x, dim=dims), dim=dims), x.tolist())
    close(fft.fftn(x), fft.fftn(x, dim=(0, 1, 2)).tolist())
    close(fft.fft2(x), fft.fftn(x, dim=(1, 2)).tolist())
    close(fft.ifft2(x, norm="forward"), fft.ifftn(x, dim=(1, 2), norm="forward").tolist())


def test_signals_are_cut_or_followed_by_zeros() -> None:
    x = signal(5, 2)
    zeros = interlock.zeros(2, 2, dtype=interlock.float64)
    close(fft.fft(x, 3), fft.fft(x[:3]).tolist())
    close(fft.fft(x, 7), fft.fft(interlock.cat([x, zeros])).tolist())
    close(fft.rfft(x[:, 0], 7), fft.rfft(interlock.cat([x, zeros])[:, 0]).tolist())
    close(fft.irfft(x, 4), fft.irfft(x[:3], 4).tolist())
    close(fft.irfft(x, 12), fft.irfft(interlock.cat([x, zeros]), 12).tolist())
    close(fft.fftn(signal(4, 5, 2), (3, -1)), fft.fftn(signal(4, 5, 2)[:3]).tolist())
    close(fft.fftn(signal(2, 4, 5, 2), (3,)), fft.fft(signal(2, 4, 5, 2), 3).tolist())


def test_imaginary_parts_that_real_signals_lack_are_ignored() -> None:
    x = signal(3, 2)
    changed = x.clone()
    changed[0, 1] = 5.0
    changed[2, 1] = 7.0
    close(fft.irfft(changed), fft.irfft(x).tolist())


def test_dtypes_and_layouts_of_operands_are_accepted() -> None:
    x = signal(4, 3, 2)
    close(fft.fft(x.transpose(0, 1), dim=1), fft.fft(x, dim=0).transpose(0, 1).tolist())
    close(fft.fft(x.expand(2, 4, 3, 2)[1]), fft.fft(x).tolist())
    numbers = signal(49, dtype=interlock.float32)
    for y in numbers[:24].view(4, 3, 2), numbers[1:25].view(4, 3, 2), numbers[:48].view(4, 3, 4)[..., 2:]:
        rows = y.transpose(0, 1).contiguous()
        assert interlock.equal(fft.fft(y, dim=0), fft.fft(rows).transpose(0, 1))
    single = fft.fft(x.float())
    assert single.dtype == interlock.float32
    close(single, fft.fft(x.float().double()).tolist(), 1e-6)
    halves = fft.fft(x.bfloat16())
    assert interlock.equal(halves, fft.fft(x.bfloat16().float()).bfloat16())
    assert fft.rfft(interlock.arange(4)).dtype == interlock.float32
    assert fft.rfft(interlock.tensor([True, False])).tolist() == [[1.0, 0.0], [1.0, 0.0]]
    assert fft.fft(interlock.zeros(0, 4, 2)).shape == (0, 4, 2)


def test_threads_do_not_change_the_bits() -> None:
    x = signal(512, 257)
    before = interlock.get_num_threads()
    results = []
    try:
        for threads in (1, 4):
            interlock.set_num_threads(threads)
            results.append(fft.rfft(x))
    finally:
        interlock.set_num_threads(before)
    assert interlock.equal(*results)


@pytest.mark.parametrize("order", ["first", "second"])
@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda x: fft.fft(x), (2, 3, 2)),
        (lambda x: fft.ifft(x, 4, 0, "ortho"), (2, 3, 2)),
        (lambda x: fft.fftn(x, (3, 2), norm="forward"), (2, 3, 2)),
        (lambda x: fft.rfft(x, dim=0), (4, 3)),
        (lambda x: fft.rfft(x, 5), (2, 3)),
        (lambda x: fft.irfft(x), (2, 3, 2)),
        (lambda x: fft.irfft(x, 5, 0), (2, 3, 2)),
    ],
)
def test_gradients_are_those_of_finite_differences(
    function: Callable[[interlock.Tensor], interlock.Tensor], shape: tuple[int, ...], order: str
) -> None:
    x = signal(*shape).requires_grad_()
    check = autograd.gradcheck if order == "first" else autograd.gradgradcheck
    assert check(function, (x,))


def test_operands_without_pairs_points_or_distinct_dimensions_are_refused() -> None:
    x = interlock.ones(3, 4, 2)
    for call, kind, text in [
        (lambda: fft.fft(x[..., :1]), errors.ShapeError, "fft: input must have a last dimension of 2"),
        (lambda: fft.fft(interlock.ones(2)), errors.ShapeError, "fft: input must have a last dimension of 2"),
        (lambda: fft.rfft(interlock.tensor(1.0)), errors.ShapeError, "rfft: input must have a dimension"),
        (lambda: fft.ifft(x, 0), errors.ArgumentError, "ifft: n must be at least 1, got 0"),
        (
            lambda: fft.irfft(x[:, :1]),
            errors.ArgumentError,
            "irfft: input must have a size of at least 2 in dim 1, ",
        ),
        (
            lambda: fft.fft2(x[:0]),
            errors.ArgumentError,
            "fft2: input must have a size of at least 1 in dim 0, unless s ",
        ),
        (
            lambda: fft.fftn(x, (2, 0)),
            errors.ArgumentError,
            "fftn: s must contain numbers of at least 1, or -1, got 0",
        ),
        (lambda: fft.fftn(x, (2, 2, 2)), errors.ArgumentError, "fftn: s must have no more sizes than there"),
        (lambda: fft.ifftn(x, (2,), (0, 1)), errors.ArgumentError, "ifftn: s must have a size for each of 2"),
        (lambda: fft.fft2(x, dim=(0, -2)), errors.ArgumentError, "fft2: dim must name each dimension once"),
        (lambda: fft.fft(x, dim=2), IndexError, "fft: dim must be from -2 to 1, got 2"),
        (
            lambda: fft.fft2(x[0]),
            IndexError,
            "fft2: input must have two dimensions before the one of the real and ",
        ),
        (lambda: fft.fft2(x[0], dim=(0, 1)), IndexError, "fft2: dim must be -1 or 0, got 1"),
        (lambda: fft.rfft(x, 2**62), errors.ShapeError, "rfft: shape "),
        (lambda: fft.rfft(x, norm="half"), errors.ArgumentError, "rfft: norm must be None, 'forward', "),
    ]:
        with pytest.raises(kind, match=f"^{re.escape(text)}"):
            call()


def test_explain_shows_the_kernel_and_its_sizes() -> None:
    call = dispatch.explain("fft2", interlock.ones(3, 4, 5, 2))
    assert str(call).startswith("fft cpu float32 c2c forward 4x5, batch 3 -> ")
    assert "cufft: needs a device, got cpu" in str(call)


def test_out_receives_the_result() -> None:
    x, out = signal(4, 2), interlock.empty(0, dtype=interlock.float64)
    assert fft.fft(x, out=out) is out
    close(out, fft.fft(x).tolist())


def test_every_combination_of_points_and_dimensions_returns_the_signal() -> None:
    for n, dim in itertools.product((1, 5, 6), (0, 1)):
        x = signal(n, n)
        close(fft.irfft(fft.rfft(x, dim=dim), n, dim), x.tolist())


@pytest.fixture
def caches(devices: tuple[str, ...]) -> Iterator[tuple[cuFFTPlanCache, cuFFTPlanCache]]:
    """Return the empty plan caches of two devices, and restore their limits."""
    found = cufft_plan_cache[devices[0]], cufft_plan_cache[devices[1]]
    for cache in found:
        cache.clear()
    yield found
    for cache in found:
        cache.clear()
        cache.max_size = 4096


def test_plans_of_a_device_are_counted_and_evicted(
    devices: tuple[str, ...], caches: tuple[cuFFTPlanCache, cuFFTPlanCache]
) -> None:
    first, second = caches
    x = signal(4, 8, 2).to(devices[0])
    sizes = [first.size]
    for tensor in (x, x, x[:3], x[:3].float()):
        fft.fft(tensor)
        sizes.append(first.size)
    assert (sizes, second.size) == ([0, 1, 1, 2, 3], 0), (
        "dtypes and numbers of signals have plans of their own"
    )
    fft.ifft(x)
    fft.fft2(x)
    fft.rfft(x[..., 0])
    assert first.size == 6
    first.max_size = 2
    assert first.size == 2, "those that were used last remain"
    with dispatch.record() as calls:
        for tensor in (x[..., 0], x[:2, :, 0], x[..., 0], x[:1, :, 0], x[..., 0], x[:2, :, 0]):
            fft.rfft(tensor)
    notes = re.findall(r"plan (\w+)", "\n".join(map(str, calls)))
    assert notes == ["cached", "made"] * 3
    assert (first.size, second.size) == (2, 0)
    first.clear()
    assert first.size == 0
    first.max_size = 0
    fft.rfft(x[..., 0])
    assert first.size == 0


def test_transforms_of_devices_and_gradients_equal_those_of_the_cpu(
    devices: tuple[str, ...], caches: tuple[cuFFTPlanCache, cuFFTPlanCache]
) -> None:
    x = signal(3, 10)
    expected = x.clone().requires_grad_()
    fft.rfft(expected, norm="ortho").square().sum().backward()
    on_device = x.to(devices[1]).requires_grad_()
    half = fft.rfft(on_device, norm="ortho")
    half.square().sum().backward()
    assert half.device == interlock.device(devices[1])
    close(half.cpu().detach(), fft.rfft(x, norm="ortho").tolist())
    assert on_device.grad is not None
    assert expected.grad is not None
    close(on_device.grad.cpu(), expected.grad.tolist())
    assert caches[1].size == 2, "the gradient has a plan of its own"
    assert caches[0].size == 0


@pytest.mark.parametrize("dim", [0, 1])
def test_results_are_no_views_and_may_be_changed_in_place(dim: int) -> None:
    x = interlock.ones(1, 3, 2, requires_grad=True)
    for result in (fft.fft(x, dim=dim), fft.rfft(x, dim=dim), fft.irfft(x, 2, dim=dim)):
        assert not result._is_view()
        result.mul_(2.0)
        result.sum().backward()
        assert x.grad is not None
        x.grad = None
