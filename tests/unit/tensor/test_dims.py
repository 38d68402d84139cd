"""Views with other dimensions, and views of several tensors."""

from __future__ import annotations

from collections.abc import Callable

import interlock
import pytest
from interlock import Tensor
from interlock.errors import ArgumentError, ShapeError

pytestmark = pytest.mark.usefixtures("everywhere")


def layout(view: Tensor) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    return view.shape, view.stride(), view.storage_offset()


def test_views_of_dimensions_have_the_strides_of_pytorch() -> None:
    x = interlock.zeros(2, 3, 4)
    assert layout(x.diagonal()) == ((4, 2), (1, 16), 0)
    assert layout(x.diagonal(1, -1, -2)) == ((2, 2), (12, 5), 4)
    assert layout(x.diagonal(-5, 1, 2)) == ((2, 0), (12, 5), 0)
    assert layout(x.movedim(0, 2)) == layout(x.moveaxis(0, 2)) == ((3, 4, 2), (4, 1, 12), 0)
    assert layout(x.movedim((0, 1), (1, 0))) == ((3, 2, 4), (4, 12, 1), 0)
    assert layout(x.swapaxes(0, 2)) == layout(x.swapdims(0, 2)) == ((4, 3, 2), (1, 4, 12), 0)
    assert layout(x.mT) == layout(x.mH) == layout(x.adjoint()) == ((2, 4, 3), (12, 1, 4), 0)
    assert layout(x[0].H) == ((4, 3), (1, 4), 0)
    assert layout(x.unflatten(2, (2, -1))) == ((2, 3, 2, 2), (12, 4, 2, 1), 0)
    assert layout(x.broadcast_to((5, 2, 3, 4))) == ((5, 2, 3, 4), (0, 12, 4, 1), 0)
    assert layout(x.reshape(1, 2, 3, 4, 1).squeeze((0, 1))) == ((2, 3, 4, 1), (12, 4, 1, 1), 0)
    assert x.reshape(1, 2, 3, 4, 1).squeeze(()).ndim == 5
    assert interlock.tensor(3.0).mT.shape == interlock.tensor(3.0).H.shape == ()


def test_flatten_copies_only_if_necessary() -> None:
    x = interlock.arange(24).view(2, 3, 4)
    assert x.flatten(1).shape == (2, 12)
    assert x.flatten(0, 1).data_ptr() == x.data_ptr()
    assert x.flatten(1, 1) is x
    assert interlock.flatten(x, 1, 1) is x
    assert interlock.tensor(1).flatten().shape == (1,)
    copied = x.transpose(1, 2).flatten(1)
    assert copied.data_ptr() != x.data_ptr()
    assert copied[0, :4].tolist() == [0, 4, 8, 1]
    assert x.ravel().data_ptr() == x.data_ptr()
    assert x.transpose(0, 1).ravel().tolist()[:5] == [0, 1, 2, 3, 12]
    assert interlock.tensor(1).ravel().shape == (1,)


def test_views_with_the_shape_of_another_tensor() -> None:
    x, y = interlock.arange(6).view(2, 3), interlock.zeros(3, 2)
    assert x.view_as(y).shape == x.t().reshape_as(x).t().shape == (3, 2)
    assert interlock.arange(3).expand_as(x).stride() == (0, 1)
    with pytest.raises(ShapeError):
        x.t().view_as(x)
    with pytest.raises(ShapeError):
        x.expand_as(y)
    with pytest.raises(TypeError, match="view_as: other"):
        x.view_as((3, 2))  # type: ignore[arg-type]


def test_broadcast_tensors_returns_views_of_the_common_shape() -> None:
    x, y = interlock.broadcast_tensors(interlock.zeros(2, 1), interlock.arange(3))
    assert (layout(x), layout(y)) == (((2, 3), (1, 0), 0), ((2, 3), (0, 1), 0))
    assert interlock.broadcast_tensors() == ()
    with pytest.raises(ShapeError, match="broadcast_tensors"):
        interlock.broadcast_tensors(x, interlock.zeros(2))


def test_atleast_adds_dimensions_in_front_and_behind() -> None:
    zero, vector, matrix = interlock.tensor(1), interlock.arange(2), interlock.zeros(2, 3)
    assert interlock.atleast_1d(vector) is vector
    assert interlock.atleast_1d(zero).shape == (1,)
    assert [each.shape for each in interlock.atleast_2d(zero, vector, matrix)] == [(1, 1), (1, 2), (2, 3)]
    assert [each.shape for each in interlock.atleast_3d([vector, matrix])] == [(1, 2, 1), (2, 3, 1)]
    assert interlock.atleast_1d() == ()
    with pytest.raises(TypeError, match="atleast_2d"):
        interlock.atleast_2d(vector, 1)  # type: ignore[call-overload]


def test_functions_equal_the_methods() -> None:
    x = interlock.arange(6).view(2, 3)
    pairs = [
        (interlock.reshape(x, (3, 2)), x.reshape(3, 2)),
        (interlock.permute(x, (1, 0)), x.permute(1, 0)),
        (interlock.transpose(x, 0, 1), x.transpose(0, 1)),
        (interlock.t(x), x.t()),
        (interlock.unsqueeze(x, 0), x.unsqueeze(0)),
        (interlock.squeeze(x.unsqueeze(0)), x),
        (interlock.squeeze(x.unsqueeze(0), 0), x),
        (interlock.select(x, 1, 2), x.select(1, 2)),
        (interlock.as_strided(x, (2,), (1,), 1), x.as_strided((2,), (1,), 1)),
        (interlock.clone(x), x),
        (interlock.detach(x), x),
        (interlock.narrow(x, 1, 1, 2), x.narrow(1, 1, 2)),
        (interlock.diagonal(x, 1), x.diagonal(1)),
        (interlock.swapaxes(x, 0, 1), x.t()),
        (interlock.swapdims(x, 0, 1), x.t()),
        (interlock.movedim(x, 0, 1), x.t()),
        (interlock.moveaxis(x, 0, 1), x.t()),
        (interlock.adjoint(x), x.t()),
        (interlock.unflatten(x, 1, (3, 1)), x.unsqueeze(2)),
        (interlock.ravel(x), x.ravel()),
        (interlock.broadcast_to(x, (1, 2, 3)), x.unsqueeze(0)),
        (interlock.split(x, 2, 1)[1], x[:, 2:]),
        (interlock.split_with_sizes(x, (1, 2), 1)[1], x[:, 1:]),
        (interlock.chunk(x, 2)[1], x[1:]),
        (interlock.tensor_split(x, 2)[1], x[1:]),
        (interlock.unbind(x)[1], x[1]),
    ]
    for number, (function, method) in enumerate(pairs):
        assert (function.tolist(), function.shape) == (method.tolist(), method.shape), number
        assert function.stride() == method.stride() or function.numel() == 6, number


@pytest.mark.parametrize(
    ("refused", "error"),
    [
        (lambda x: x.flatten(1, 0), ArgumentError),
        (lambda x: x.flatten(2), IndexError),
        (lambda x: x.unflatten(1, (2, 2)), ShapeError),
        (lambda x: x.unflatten(1, ()), ShapeError),
        (lambda x: x.unflatten(2, (1,)), IndexError),
        (lambda x: x.sum().unflatten(0, (1,)), ShapeError),
        (lambda x: x.sum().unflatten(1, (1,)), IndexError),
        (lambda x: x.diagonal(0, 1, 1), ArgumentError),
        (lambda x: x[0].diagonal(), IndexError),
        (lambda x: x.movedim((0, 0), (0, 1)), ArgumentError),
        (lambda x: x.movedim((0, 1), (0,)), ArgumentError),
        (lambda x: x.movedim(0, 2), IndexError),
        (lambda x: x[0].mT, ShapeError),
        (lambda x: x[0].mH, ShapeError),
        (lambda x: x[0].H, ShapeError),
        (lambda x: x.unsqueeze(0).H, ShapeError),
        (lambda x: x[0].adjoint(), ShapeError),
        (lambda x: x.squeeze((0, -2)), ArgumentError),
        (lambda x: x.squeeze((0, 2)), IndexError),
        (lambda x: x.broadcast_to((3,)), ShapeError),
    ],
)
def test_dimensions_that_do_not_fit_are_refused(
    refused: Callable[[Tensor], object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        refused(interlock.zeros(2, 3))


def test_transposes_of_a_number_are_the_tensor_itself() -> None:
    x = interlock.tensor(2.0, requires_grad=True)
    assert all(each is x for each in (x.H, x.mH, x.mT, x.adjoint(), interlock.adjoint(x)))


def test_tensors_of_the_wanted_shape_are_returned_themselves() -> None:
    x, y = interlock.ones(2, 3, requires_grad=True), interlock.ones(3)
    one, other = interlock.broadcast_tensors(x, y)
    assert one is x
    assert other is not y
    assert interlock.atleast_2d(x, y)[0] is x
