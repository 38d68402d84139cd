"""Operations on tensors right after a switch of contexts have the mode and default device of the new one."""

import contextvars

import interlock


def properties(result):
    """Return what the modes and the default device set of a result."""
    if isinstance(result, interlock.Tensor):
        node = type(result.grad_fn).__name__ if result.requires_grad else None
        return (result.requires_grad, result.is_inference(), str(result.device), node)
    if isinstance(result, tuple | list):
        return [properties(item) for item in result]
    return type(result).__name__


def outcome(example, operands):
    """Return the properties of the result of an example, or its error."""
    try:
        return properties(eval(example, operands))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def operations(examples, floats, others):
    """Print the names of examples whose result depends on the state that the thread saw before the switch."""
    contexts = [contextvars.Context() for _ in range(3)]
    no_grad, default_device = interlock.no_grad(), interlock.device("meta")
    contexts[1].run(no_grad.__enter__)
    contexts[2].run(interlock.inference_mode().__enter__)
    contexts[2].run(default_device.__enter__)
    found, differ = [], set()
    for name, example in examples.items():
        expected = []
        for context in contexts:
            context.run(interlock.is_grad_enabled)
            expected.append(context.run(outcome, example, new_operands(floats, others)))
        if any(result != expected[0] for result in expected):
            differ.add(name)
        for context, result in zip(contexts, expected, strict=True):
            for other in contexts:
                operands = new_operands(floats, others)
                other.run(interlock.is_grad_enabled)
                if context.run(outcome, example, operands) != result:
                    found.append(name)
    print(len(differ) > 100, sorted(set(found)))


def new_operands(floats, others):
    """Return the operands of tools/example_calls.py, created in a new context."""

    def create():
        numbers = {name: interlock.full(shape, 0.75).requires_grad_() for name, shape in floats.items()}
        return numbers | {name: interlock.tensor(elements) for name, elements in others.items()}

    return {"interlock": interlock, "options": {}, **contextvars.Context().run(create)}
