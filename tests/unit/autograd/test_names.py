"""The modules that export the modes, and the pair of functions for code without `with`."""

from __future__ import annotations

import inspect

import interlock
import pytest
from interlock import autograd
from interlock.autograd import grad_mode

from tests.helpers.ids import stable_repr
from tests.unit.autograd.mode_cases import START, public_modes

SIGNATURES = {
    "no_grad": "(orig_func=None)",
    "enable_grad": "(orig_func=None)",
    "set_grad_enabled": "(mode)",
    "inference_mode": "(mode=True)",
    "set_multithreading_enabled": "(mode)",
    "enforce_grad_layout_policy": "(enable=True)",
    "_force_original_view_tracking": "(mode)",
    "_unsafe_preserve_version_counter": "(tensors)",
    "_enter_inference_mode": "(mode)",
    "_exit_inference_mode": "(mode)",
}


def parameters_of(made: object) -> str:
    """Return the parameters without annotations."""
    assert callable(made)
    signature = inspect.signature(made)
    plain = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
    return str(signature.replace(parameters=plain, return_annotation=signature.empty))


@pytest.mark.parametrize("name", SIGNATURES)
def test_mode_is_one_object_at_the_top_in_autograd_and_in_grad_mode(name: str) -> None:
    found = getattr(interlock, name)
    assert found is getattr(autograd, name)
    assert found is getattr(grad_mode, name)
    # A private name can be read in all three modules, and none of them exports it.
    is_public = not name.startswith("_")
    assert all((name in place.__all__) is is_public for place in (interlock, autograd, grad_mode))
    assert (found.__name__, found.__module__) == (name, "interlock.autograd.grad_mode")
    assert parameters_of(found) == SIGNATURES[name]
    assert found.__doc__


@pytest.mark.parametrize(("mode", "inside"), [(True, (False, True)), (False, (True, False))])
def test_inference_mode_can_be_entered_and_exited_by_functions(mode: bool, inside: tuple[bool, bool]) -> None:
    with interlock.inference_mode(not mode):
        before = public_modes()
        entered = interlock._enter_inference_mode(mode)
        assert (public_modes(), entered.mode) == (inside, mode)
        again = interlock._enter_inference_mode(mode)
        interlock._exit_inference_mode(entered)
        assert public_modes() == inside
        interlock._exit_inference_mode(again)
        assert public_modes() == before
        interlock._exit_inference_mode(again)
        assert public_modes() == before
    assert public_modes() == START


@pytest.mark.parametrize("wrong", [None, 1, "x", public_modes, interlock.no_grad()], ids=stable_repr)
def test_enter_and_exit_functions_refuse_wrong_arguments(wrong: object) -> None:
    for function in (interlock._enter_inference_mode, interlock._exit_inference_mode):
        with pytest.raises(TypeError, match=f"{function.__name__}.* got "):
            function(wrong)  # type: ignore[arg-type]
    assert public_modes() == START
