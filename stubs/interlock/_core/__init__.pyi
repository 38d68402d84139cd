from interlock._core import (
    accelerator as accelerator,
    autograd as autograd,
    backends as backends,
    tensor as tensor,
)
