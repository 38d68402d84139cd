"""The layer of multi-head attention, whose fast path obeys `backends.mha.fastpath`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from interlock._arguments import as_bool
from interlock._core.accelerator import device as _device
from interlock._core.tensor import Tensor, dtype, float32, multi_head_attention, rand, zeros
from interlock._quote import shown
from interlock.autograd.grad_mode import no_grad
from interlock.errors import ArgumentError, DTypeError, ShapeError
from interlock.nn.parameter import Parameter

__all__ = ["MultiheadAttention"]


class _OutputProjection:
    """The linear layer after the attention of all heads.

    Args:
        weight: The weights, of shape [outputs, inputs].
        bias: The biases, of shape [outputs], or None.

    """

    def __init__(self, weight: Parameter, bias: Parameter | None) -> None:
        self.weight = weight
        self.bias = bias


class MultiheadAttention:
    """Attention of several heads with projections, as `torch.nn.MultiheadAttention`.

    In evaluation mode, for self-attention with an even number of heads, a batch in the first dimension and no
    recorded gradients, the fast path projects queries, keys and values in one product instead of three. The
    flag `backends.mha.fastpath` disables it. A call is recorded by `dispatch.record` as the operation
    ``"mha"`` with the kernels ``"fastpath"`` and ``"composed"``, and the reason against the fast path.

    Args:
        embed_dim: The size of queries, keys and values.
        num_heads: The number of heads, which divides `embed_dim`.
        dropout: 0; there is no dropout.
        bias: Whether the projections have biases.
        add_bias_kv: False; keys and values have no biases of their own.
        add_zero_attn: False; no key of zeros is added.
        kdim: The size of keys: `embed_dim`, or None.
        vdim: The size of values: `embed_dim`, or None.
        batch_first: Whether the first dimension of tensors is the batch. Otherwise it is the second.
        device: The device of the parameters; None means the default device.
        dtype: The dtype of the parameters; None means float32.

    Raises:
        ArgumentError: An argument has a value that is not supported.
        DTypeError: `dtype` is not floating point.
        TypeError: An argument has another type.

    Example:
        >>> import interlock
        >>> from interlock import dispatch, nn
        >>> layer = nn.MultiheadAttention(8, 2, batch_first=True).eval()
        >>> x = interlock.ones(1, 3, 8)
        >>> with dispatch.record() as calls, interlock.no_grad():
        ...     out, weights = layer(x, x, x)
        >>> out.shape, weights.shape
        ((1, 3, 8), (1, 3, 3))
        >>> calls[-1].operation, calls[-1].kernel
        ('mha', 'fastpath')

    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: _device | str | int | None = None,
        dtype: dtype | None = None,
    ) -> None:
        for name, size in (("embed_dim", embed_dim), ("num_heads", num_heads)):
            if not isinstance(size, int) or isinstance(size, bool):
                raise TypeError(f"MultiheadAttention: {name} must be an int, got {type(size).__name__}")
        for name, flag in (("bias", bias), ("batch_first", batch_first)):
            as_bool(f"MultiheadAttention: {name}", flag)
        if not 0 < embed_dim <= 2**29:
            # The weights of a greater size have more elements than can be addressed.
            raise ArgumentError(f"MultiheadAttention: embed_dim must be from 1 to 2**29, got {embed_dim}")
        if num_heads <= 0 or embed_dim % num_heads:
            raise ArgumentError(
                f"MultiheadAttention: num_heads must divide embed_dim, {embed_dim}, got {num_heads}"
            )
        for name, given, supported in (
            ("dropout", dropout, 0.0),
            ("add_bias_kv", add_bias_kv, False),
            ("add_zero_attn", add_zero_attn, False),
            ("kdim", embed_dim if kdim is None else kdim, embed_dim),
            ("vdim", embed_dim if vdim is None else vdim, embed_dim),
        ):
            if given != supported:
                raise ArgumentError(f"MultiheadAttention: {name} must be {supported}, got {shown(given)}")
        if dtype is not None and not isinstance(dtype, type(float32)):
            raise TypeError(f"MultiheadAttention: dtype must be an interlock.dtype, got {shown(dtype)}")
        if dtype is not None and not dtype.is_floating_point:
            raise DTypeError(f"MultiheadAttention: dtype must be floating point, got {dtype}")
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.batch_first = batch_first
        self.training = True

        def uniform(rows: int, bound: float) -> Parameter:
            unit = rand(rows, embed_dim, device=device, dtype=dtype or float32)
            return Parameter(unit * (2 * bound) - bound)

        def biases(count: int) -> Parameter | None:
            return Parameter(zeros(count, device=device, dtype=dtype or float32)) if bias else None

        # The initialization of PyTorch: Glorot and Bengio (2010) for the first projection.
        self.in_proj_weight = uniform(3 * embed_dim, (6 / (4 * embed_dim)) ** 0.5)
        self.in_proj_bias = biases(3 * embed_dim)
        self.out_proj = _OutputProjection(uniform(embed_dim, embed_dim**-0.5), biases(embed_dim))

    def __call__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return `forward` of the arguments."""
        return self.forward(
            query, key, value, key_padding_mask, need_weights, attn_mask, average_attn_weights, is_causal
        )

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the projected attention of all heads and the weights of the values.

        Args:
            query: The queries: [batch, queries, size] if `batch_first`, else [queries, batch, size], or
                [queries, size].
            key: The keys, in the same layout.
            value: The values, in the same layout.
            key_padding_mask: Keys to ignore, of shape [batch, keys] or [keys]: bools that are True for them,
                or floats that are added to the scores.
            need_weights: Whether to return the weights. Without them the call uses
                `functional.scaled_dot_product_attention`.
            attn_mask: Scores to ignore, of shape [queries, keys] or [batch * heads, queries, keys]: bools
                that are True for them, or floats that are added to the scores.
            average_attn_weights: Whether the weights are the mean of all heads.
            is_causal: Whether `attn_mask` is a causal mask.

        Returns:
            The result in the layout of `query`. The weights, of shape [batch, queries, keys], or
            [batch, heads, queries, keys] unless averaged; None unless needed.

        Raises:
            ShapeError: The shapes are incompatible.
            DTypeError: The dtypes differ, or a mask is of integers.
            ArgumentError: `is_causal` is True without a mask.

        Example:
            >>> import interlock
            >>> from interlock import nn
            >>> x = interlock.ones(3, 4)
            >>> out, weights = nn.MultiheadAttention(4, 2)(x, x, x, need_weights=False)
            >>> out.shape, weights
            ((3, 4), None)

        """
        return multi_head_attention(
            query,
            key,
            value,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            batch_first=self.batch_first,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )

    def train(self, mode: bool = True) -> MultiheadAttention:
        """Set the training mode and return the layer.

        Args:
            mode: True for training mode, False for evaluation mode.

        """
        self.training = mode
        return self

    def eval(self) -> MultiheadAttention:
        """Set evaluation mode and return the layer."""
        return self.train(False)

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """Iterate over the names of the parameters and the parameters."""
        parameters = {
            "in_proj_weight": self.in_proj_weight,
            "in_proj_bias": self.in_proj_bias,
            "out_proj.weight": self.out_proj.weight,
            "out_proj.bias": self.out_proj.bias,
        }
        yield from ((name, tensor) for name, tensor in parameters.items() if tensor is not None)

    def parameters(self) -> Iterator[Parameter]:
        """Iterate over the parameters."""
        yield from (tensor for _, tensor in self.named_parameters())

    def state_dict(self) -> dict[str, Tensor]:
        """Return the parameters by name. The tensors share the memory of the parameters."""
        return {name: tensor.detach() for name, tensor in self.named_parameters()}

    def load_state_dict(self, state_dict: Mapping[str, Tensor]) -> None:
        """Copy tensors into the parameters of the same names.

        Args:
            state_dict: A tensor for each parameter, of its shape.

        Nothing is copied if an argument does not fit.

        Raises:
            ArgumentError: A name is missing, or no parameter has a name.
            ShapeError: A tensor does not have the shape of the parameter.
            TypeError: `state_dict` is not a mapping, or a value is not a tensor.

        Example:
            >>> from interlock import nn
            >>> one, other = nn.MultiheadAttention(4, 2), nn.MultiheadAttention(4, 2)
            >>> other.load_state_dict(one.state_dict())

        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"load_state_dict: state_dict must be a mapping, got {type(state_dict).__name__}")
        parameters = dict(self.named_parameters())
        names = ", ".join(parameters)
        missing = [name for name in parameters if name not in state_dict]
        unexpected = [name for name in state_dict if name not in parameters]
        if missing:
            raise ArgumentError(
                f"load_state_dict: state_dict must have the names {names}; missing: {', '.join(missing)}"
            )
        if unexpected:
            raise ArgumentError(
                f"load_state_dict: state_dict must have the names {names} only, got {unexpected[0]!r}"
            )
        for name, parameter in parameters.items():
            given = state_dict[name]
            if not isinstance(given, Tensor):
                raise TypeError(
                    f"load_state_dict: state_dict[{name!r}] must be a Tensor, got {type(given).__name__}"
                )
            if given.shape != parameter.shape:
                raise ShapeError(
                    f"load_state_dict: state_dict[{name!r}] must be of shape {parameter.shape}, "
                    f"got shape {given.shape}"
                )
        with no_grad():
            for name, parameter in parameters.items():
                parameter.copy_(state_dict[name])
