"""Scopes in tasks. Tests find lines by their trailing comments."""

import asyncio
import gc
import json
import warnings

import interlock
from interlock import aio, backends, enable_grad, inference_mode, no_grad


async def work(scope, others, step):
    """Enter the scope after `step` other tasks and exit it in the order of the steps."""
    for _ in range(step):
        await asyncio.sleep(0)
    with scope:  # scope
        for _ in range(others):
            await asyncio.sleep(0)


async def gather(*scopes):
    await asyncio.gather(*(work(scope, len(scopes), step) for step, scope in enumerate(scopes)))


async def overlap_of_modes():
    await gather(no_grad(), enable_grad())


async def overlap_of_flags():
    await gather(*(backends.override({"cudnn.benchmark_limit": limit}) for limit in range(3)))


async def overlap_of_a_mode_and_a_flag():
    await gather(backends.cudnn.flags(enabled=False), inference_mode())


async def overlap_twice():
    await overlap_of_modes()
    await overlap_of_flags()


async def out_of_order_in_one_task():
    first, second, third = no_grad(), enable_grad(), inference_mode()
    for scope in (first, second, third):
        scope.__enter__()
        await asyncio.sleep(0)
    for scope in (first, second, third):
        scope.__exit__(None, None, None)
        await asyncio.sleep(0)


async def generator_of_one_task():
    def rows():
        with no_grad():
            yield

    with enable_grad():
        suspended = rows()
        next(suspended)
    await asyncio.sleep(0)
    suspended.close()


async def scopes_of_one_object():
    shared = no_grad()
    await gather(shared, shared)


async def scope_that_is_never_exited():
    with no_grad():
        enable_grad().__enter__()
    await gather(no_grad())


async def tasks_with_a_state_of_their_own():
    asyncio.get_running_loop().set_task_factory(aio.task_factory())
    await overlap_twice()


def use_scopes_in_tasks(case, action):
    """Run one of the cases and print the warnings as JSON."""
    warnings.simplefilter(action)
    with warnings.catch_warnings(record=action != "error") as caught:
        try:
            asyncio.run(globals()[case]())
        except interlock.errors.ScopeWarning as error:
            caught = []
            print("raised", type(error).__name__)
        assert interlock.is_grad_enabled() or case == "scope_that_is_never_exited"
        assert not interlock.is_inference_mode_enabled()
        assert backends.cudnn.enabled
    shown = [(each.category.__name__, str(each.message), f"{each.filename}:{each.lineno}") for each in caught]
    print(json.dumps(shown))


def steps_without_a_coroutine_are_refused_and_finalized_silently():
    for make in (aio._StatefulCoroutine, lambda: object.__new__(aio._StatefulCoroutine)):
        try:
            made = make()
        except TypeError as error:
            print(error)
        else:
            del made
        gc.collect()
