"""Gradients of one leaf that several streams compute."""

import warnings

import interlock
from interlock import Stream, accelerator, autograd


def gradients_from_several_streams(driver):
    """Return the warnings of three backward passes; they are disabled in the first."""
    accelerator.use(driver)
    device = accelerator.current_accelerator()
    found = []
    for enabled in (False, True, True):
        autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(enabled)
        x = interlock.ones(2, device=device, requires_grad=True)
        accelerator.synchronize()
        with Stream(device):
            y = x * x
        accelerator.synchronize()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            (y + x * 5).sum().backward()
        accelerator.synchronize()
        assert x.grad.tolist() == [7.0, 7.0]
        found.append([str(each.message) for each in caught])
    return found
