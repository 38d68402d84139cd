"""Differential fuzz: random tensor programs, compared with NumPy and, with BENCH_PYTHON, with PyTorch.

Each step is compared with NumPy, applied to the elements of its operands. After a program, a co-process
runs it on PyTorch and compares each step: error or not, dtype, shape, strides, `requires_grad`, `is_leaf`
and elements, first and second gradients among them. `tolerances.py` has the tolerances. An action is one
step.

A tenth of the programs has other integers, and a third float16 and bfloat16 tensors, and no gradients.

Products of matrices run under random precision flags. If their record says that a kernel rounded the inputs,
the result is compared with NumPy's product of rounded inputs instead of PyTorch's. Attention runs under
random switches of its kernels.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

import interlock
import interlock.nn.functional
from interlock import accelerator, backends, dispatch

from tests.fuzz import numpy_side
from tests.fuzz.actions import Actions
from tests.fuzz.drawing.layers import SETTINGS
from tests.fuzz.drawing.state import Drawing
from tests.fuzz.drawing.steps import next_step
from tests.fuzz.numpy_comparison import compared_with_numpy, for_numpy, scale
from tests.fuzz.programs import IN_PLACE, PRODUCTS, Step, result_of, run_step
from tests.fuzz.torch_process import PyTorch

MEMORY = 256 << 20
MOST_STEPS = 16
MOST_ERRORS = 8


class Program:
    """A program that is extended step by step, depending on its tensors."""

    def __init__(self, actions: Actions) -> None:
        self.actions = actions
        self.drawing = Drawing(actions.random)
        self.tensors = self.drawing.tensors
        self.steps: list[Step] = []
        self.results: list[dict[str, Any]] = []
        self.has_undefined_elements = False
        """Whether a write has failed on a device: the program ends without a comparison of all tensors."""

    @property
    def device(self) -> str:
        """The device of the program's tensors."""
        return self.drawing.device

    def text(self, end: int) -> str:
        """Return the relevant steps for a report."""
        return f"on {self.device}: " + "; ".join(
            f"t{self.firsts[number]} = {step}" for number, step in enumerate(self.steps[: end + 1])
        )

    @property
    def firsts(self) -> list[int]:
        """The number of the first tensor of each step."""
        found, number = [], 0
        for result in self.results:
            found.append(number)
            number += len(result["made"])
        return [*found, number]

    def finals(self) -> list[Any]:
        """Return all tensors after the last step; none if some elements are undefined."""
        if self.has_undefined_elements:
            return []
        return [result_of(tensor) for tensor in self.tensors]

    def do(self, step: Step) -> str | None:
        """Run a step on interlock and return the difference from NumPy's result, if any."""
        wrong = self.actions.fault()
        operands = [for_numpy(argument, self.tensors) for argument in step.arguments]
        size = scale(step, self.tensors)
        self.steps.append(step)
        calls = dispatch.record()
        try:
            with backends.override(**(step.flags or {})), calls:
                made = run_step(interlock, step, self.tensors)
        except Exception as error:
            # A part of the expression that was queued before may fail, too.
            self.discard_errors()
            failed_on_device = isinstance(error, interlock.AcceleratorError)
            self.has_undefined_elements = failed_on_device and step.name in IN_PLACE
            text = f"{type(error).__name__}: {error}".splitlines()[0]
            self.results.append({"error": text, "made": [None], "scale": size})
            self.tensors.append(None)
            return "planted" if wrong else None
        try:
            if self.device != "cpu":
                accelerator.synchronize(self.device)  # The read of a tensor without elements does not wait.
            results = [result_of(tensor) for tensor in made]
        except interlock.AcceleratorError as error:
            # An operation on a device fails there, and the first read of its result raises. So does the read
            # of another tensor that it has written.
            self.discard_errors()
            self.has_undefined_elements = step.name in IN_PLACE
            self.results.append(
                {"error": f"{type(error).__name__}: {error}".splitlines()[0], "made": [None], "scale": size}
            )
            self.tensors.append(None)
            return "planted" if wrong else None
        except Exception as error:
            self.results.append({"error": "", "made": [None] * len(made), "scale": size})
            self.tensors += [None] * len(made)
            return f"the result can't be read: {type(error).__name__}: {error}"
        inputs = self.inputs(step, calls)
        self.results.append({"error": "", "made": results, "scale": size, "inputs": inputs})
        self.tensors += made
        if wrong:
            return "planted"
        if step.name not in PRODUCTS:
            return self.compared(step, operands, made, size)
        self.actions.add(f"products, inputs {inputs}")
        expected = self.expected_inputs(step)
        if [call.inputs for call in calls] != [expected]:
            return f"recorded {list(calls)} instead of inputs {expected}"
        if inputs != "float32":
            for place in PRODUCTS[step.name]:
                operands[place] = numpy_side.rounded(operands[place], inputs)
        return self.compared(step, operands, made, size)

    def compared(self, step: Step, operands: list[Any], made: list[Any], size: float) -> str | None:
        """Return the difference of a result from NumPy's, unless NumPy promotes the integers differently."""
        if self.drawing.has_integers:
            return None
        return compared_with_numpy(step, self.tensors, operands, made, size)

    def discard_errors(self) -> None:
        """Wait for the device and discard the errors of its work: one for each operation of a step."""
        for _ in range(MOST_ERRORS if self.device != "cpu" else 0):
            with contextlib.suppress(interlock.AcceleratorError):
                accelerator.synchronize(self.device)
                return

    def inputs(self, step: Step, calls: dispatch.Recording) -> str:
        """Return the precision to which a recorded product has rounded its inputs, "float32" without one."""
        return (calls[0].inputs if step.name in PRODUCTS and len(calls) else None) or "float32"

    def expected_inputs(self, step: Step) -> str | None:
        """Return the precision that the flags of a product request, None for other inputs than float32."""
        tensor = self.tensors[step.arguments[PRODUCTS[step.name][0]]["t"]]
        if tensor.dtype is not interlock.float32:
            return None
        setting = next(setting for setting in SETTINGS if setting.flags == step.flags)
        return setting.on_cpu if tensor.device.type == "cpu" else setting.on_devices


def run(actions: Actions) -> None:
    """Run `actions.count` steps."""
    accelerator.use("host", devices=2, memory=MEMORY)
    python = os.environ.get("BENCH_PYTHON")
    torch = PyTorch(python) if python else None
    program, length = Program(actions), 0
    for number in actions:
        if not length:
            program, length = Program(actions), actions.random.randrange(3, MOST_STEPS)
        step = next_step(program.drawing)
        actions.doing(f"{program.text(len(program.steps))}; {step}")
        reported = program.do(step)
        if reported:
            actions.wrong(f"{step.name}: {reported}; {program.text(len(program.steps))}")
            length = 0
            continue
        length = 0 if program.has_undefined_elements else length - 1
        if not length or number == actions.count:
            judge(actions, torch, program)
            length = 0
    if torch is not None:
        torch.end()


def judge(actions: Actions, torch: PyTorch | None, program: Program) -> None:
    """Compare a finished program with PyTorch."""
    actions.add("errors", sum(bool(result["error"]) for result in program.results))
    if torch is None:
        return
    agreed, differences = torch.judge(program.steps, program.results, program.finals())
    actions.add("agree with PyTorch", agreed)
    for number, text in differences:
        actions.wrong(f"{program.steps[number].name}: PyTorch: {text}; {program.text(number)}")
