"""Examples of the operations of tensors that are not in the table: they are not declared by `tensor_op`.

An example is an expression of the names that `example_calls.operands` returns.
"""

OPERATIONS = {
    "Products": {
        "einsum": "interlock.einsum('ij,jk->ik', x, square)",
        "multi_head_attention": "interlock.nn.MultiheadAttention(3, 1, **options)(x, z, z)[0]",
    },
    "Shape": {
        "T": "x.T",
        "mT": "x.mT",
        "mH": "x.mH",
        "H": "x.H",
        "broadcast_tensors": "interlock.broadcast_tensors(x, y)[0]",
        "atleast_1d": "interlock.atleast_1d(x)",
        "atleast_2d": "interlock.atleast_2d(x)",
        "atleast_3d": "interlock.atleast_3d(x)",
    },
    "Indexing": {
        "__getitem__": "x[0, 1:]",
        "__setitem__": "(copy := x.clone()).__setitem__(0, x[1]) or copy",
    },
    "Conversion, copies and attributes": {
        "to": "x.float().to(interlock.float64)",
        "pin_memory": "x.pin_memory()",
        "contiguous": "x.t().contiguous()",
        "item": "x[0, 0].item()",
        "tolist": "x.tolist()",
        "numpy": "x.numpy(force=True)",
    },
}
# The operators of in-place methods.
IN_PLACE = {
    "add_": "+=",
    "sub_": "-=",
    "mul_": "*=",
    "div_": "/=",
    "floor_divide_": "//=",
    "remainder_": "%=",
    "pow_": "**=",
    "bitwise_and_": "&=",
    "bitwise_or_": "|=",
    "bitwise_xor_": "^=",
    "bitwise_left_shift_": "<<=",
    "bitwise_right_shift_": ">>=",
}
# The operators of other operations.
OPERATORS = {
    "add": "x + z",
    "sub": "x - z",
    "mul": "x * z",
    "div": "x / z",
    "pow": "x ** z",
    "floor_divide": "x // z",
    "remainder": "x % z",
    "neg": "-x",
    "positive": "+x",
    "abs": "abs(x)",
    "matmul": "x @ y",
    "eq": "x == z",
    "ne": "x != z",
    "lt": "x < z",
    "le": "x <= z",
    "gt": "x > z",
    "ge": "x >= z",
    "bitwise_not": "~x",
    "bitwise_and": "x & z",
    "bitwise_or": "x | z",
    "bitwise_xor": "x ^ z",
    "bitwise_left_shift": "x << z",
    "bitwise_right_shift": "x >> z",
}
# The functions and layers of operations with other names in the stub.
PUBLIC_NAMES = {
    "multi_head_attention": "interlock.nn.MultiheadAttention",
    "quantized_linear": "interlock.nn.quantized.functional.linear",
}
# The modules of functions that are in no section of their module.
MODULES = ("interlock", "interlock.nn.functional")
# Members of the stub that compute no tensor.
NOT_OPERATIONS = (
    "data",
    "backward",
    "grad",
    "get_default_dtype",
    "is_tensor",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "set_rng_state",
    "record_stream",
    "requires_grad_",
    "register_hook",
    "register_post_accumulate_grad_hook",
    "retain_grad",
)
# The sections of the page, by the beginnings of the Rust modules that declare their operations.
SECTIONS = {
    "Creation": ("creation", "random::new"),
    "Arithmetic": ("elementwise::arithmetic",),
    "Functions of each element": ("elementwise::functions", "elementwise::rounding"),
    "Comparison, logic and bits": ("elementwise::comparison", "elementwise::bitwise"),
    "Selection, limits and writes": ("elementwise::",),
    "Reductions and sorting": ("reduction",),
    "Products": ("products",),
    "Neural networks: `interlock.nn.functional`": ("nn",),
    "Linear algebra: `interlock.linalg`": ("linalg",),
    "Fourier transforms: `interlock.fft`": ("fft",),
    "Shape": ("shape",),
    "Indexing": ("indexing",),
    "Random numbers": ("random",),
    "Quantized tensors": ("quantized",),
    "Conversion, copies and attributes": ("",),
}
