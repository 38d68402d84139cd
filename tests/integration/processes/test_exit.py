"""Destructors and daemon threads that run during the exit of a process can use flags and modes."""

from __future__ import annotations

import pytest

from tests.helpers.subprocess import run_program

# Each runs in a destructor that the interpreter calls during finalization.
LAST_WORDS = {
    "assign": "backends.cudnn.enabled = False",
    "assign a wrong value": "backends.cudnn.enabled = []",
    "delete": "del backends.cudnn.enabled",
    "an unknown name": "backends.cudnn.enabel = True",
    "dir": "dir(backends.cudnn)",
    "vars": "vars(backends.cudnn)",
    "a scope": "with backends.cudnn.flags(): pass",
    "override": "backends.override({'cudnn.enabled': False}).__enter__()",
    "a freeze": "backends.frozen().__enter__()",
    "a mode": "with interlock.no_grad(): pass",
    "a written mode": "interlock.set_grad_enabled(False)",
    "a mode as text": "repr(interlock.set_grad_enabled(True))",
    "a copy of a mode": "interlock.inference_mode().clone()",
    "attributes of a mode": "interlock.inference_mode(False).mode, interlock.no_grad().prev",
    "a wrong exit": "interlock.no_grad().__exit__()",
    "a decorator": "interlock.no_grad()(print)",
    "a bare decorator": "interlock.no_grad(print)",
    "a tensor": "(interlock.ones(3, requires_grad=True) * 2).sum().backward()",
    "a device": "interlock.device('cuda:1')",
}


@pytest.mark.parametrize("words", LAST_WORDS.values(), ids=LAST_WORDS.keys())
def test_destructor_at_exit_does_not_crash_the_process(words: str) -> None:
    done = run_program("processes.exits.destructor_at_exit_does_not_crash_the_process", words)
    assert (done.code, done.stderr) == (0, "")


@pytest.mark.parametrize("code", [0, 3])
def test_exit_inside_scopes_keeps_the_exit_code(code: int) -> None:
    done = run_program("processes.exits.exit_inside_scopes_keeps_the_exit_code", code)
    assert (done.code, done.stderr) == (code, "")


# Work of a daemon thread that is ended by the interpreter.
AT_WORK = {
    "run": "interlock.capture().run(work)",
    "wrap": "interlock.capture().wrap(work)()",
    "a decorated function": "interlock.no_grad()(work)()",
    "a task": "aio.run(task())",
    "a scope of a decorated generator": "next(Scope('__enter__')(numbers)())",
    "the end of that scope": "next(Scope('__exit__')(numbers)())",
    "the end of an override of a setting": "settings.override({'mylib.level': 1})(len)('')",
    "an annotation": "interlock.accelerator.memory.annotate(Foreign(), 'x')",
    "an exporter": "interlock.from_dlpack(Foreign())",
    "an attribute of a copied tensor": "copy.deepcopy(tensor_with(Foreign()))",
}


@pytest.mark.parametrize("at_work", AT_WORK.values(), ids=AT_WORK.keys())
def test_exit_ends_a_daemon_thread_during_its_work(at_work: str) -> None:
    done = run_program("processes.exits.exit_ends_a_daemon_thread_during_its_work", at_work)
    assert (done.code, done.stderr) == (0, "")
