"""The choice of a driver, and queries before its first use."""

import ctypes
import json
import os
import threading
import warnings

import interlock
from interlock import accelerator, errors, testing


def query():
    found, checked = (accelerator.current_accelerator(check_available=check) for check in (False, True))
    return [accelerator.is_available(), accelerator.device_count(), str(found), str(checked)]


def set_devices_with_contexts():
    """Return what is reported without and with a context on another device, and the device after that."""
    text = ""

    def report(index):
        nonlocal text
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                accelerator.set_device_index(index)
            except errors.AcceleratorError as error:
                text = str(error)
                return type(error).__name__
        text = str(caught[0].message) if caught else text
        return caught[0].category.__name__ if caught else "nothing"

    first = report(1)
    accelerator.memory.Buffer(8)
    return [first, report(0), accelerator.current_device_index(), text]


def generators():
    from interlock.accelerator import random

    result = [random.get_rng_state_all()]
    for function in (random.initial_seed, random.get_rng_state):
        try:
            function()
        except errors.NoAcceleratorError as error:
            result.append(str(error).partition(":")[0])
    return result


def call_the_documented_no_ops():
    with accelerator.device_index(None):
        pass
    accelerator.empty_cache()
    accelerator.reset_peak_memory_stats()
    accelerator.reset_accumulated_memory_stats()
    return accelerator.device_count()


def current_index_follows_the_thread_and_its_scopes():
    index = accelerator.current_device_index
    result = [index()]
    with accelerator.device_index(1):
        result.append(index())
        with accelerator.device_index(2):
            result.append(index())
        thread = threading.Thread(target=lambda: result.append(index()))
        thread.start()
        thread.join()
        result.append(index())
    result.append(index())
    return result


def driver_is_fixed_at_first_use_and_not_by_queries():
    accelerator.device_count(), accelerator.is_available(), accelerator.current_accelerator()
    accelerator.unavailable_reason(), interlock.device(0)
    accelerator.use("host", devices=2)
    interlock.Stream()
    try:
        accelerator.use("host", devices=3)
    except errors.DriverInUseError as error:
        message = str(error)
    return [accelerator.device_count(), message]


def fault_injector_without_a_driver_raises():
    faults = testing.FaultInjector()
    try:
        faults.fail_next_copy("never")
    except errors.NoAcceleratorError as error:
        return str(error)


def importing_does_not_touch_the_libraries_of_the_driver():
    from pathlib import Path

    def loaded():
        mapped = Path("/proc/self/maps").read_text()
        return [name in mapped for name in ("libcuda.so.1", "libnvidia-ml.so.1")]

    result = [loaded()]
    interlock.accelerator.is_available()
    result.append(loaded()[0])
    return result


def missing_accelerator_is_none_and_the_error_names_the_search():
    try:
        interlock.Stream()
    except errors.NoAcceleratorError as error:
        return [accelerator.current_accelerator(), accelerator.unavailable_reason(), str(error)]


def misspelt_environment_value_is_reported_and_selects_no_driver():
    try:
        interlock.Stream()
    except errors.NoAcceleratorError as error:
        message = str(error)
    return [accelerator.device_count(), accelerator.current_accelerator(), message]


def pytorch_issues_use_a_device():
    reported = set()
    for use in (interlock.Stream, accelerator.synchronize, accelerator.current_device_index):
        try:
            use()
        except errors.NoAcceleratorError as error:
            reported.add(str(error).partition(": ")[2])
    print(*reported, sep="\n")


def queries_are_reevaluated_in_a_forked_child():
    def in_child(work):
        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:
            try:
                os.write(writing, json.dumps(work()).encode())
            finally:
                os._exit(0)
        os.close(writing)
        with open(reading) as result:
            reported = json.loads(result.read())
        os.waitpid(process, 0)
        return reported

    def other():
        before = query()
        os.environ["INTERLOCK_ACCELERATOR"] = "host:5"
        accelerator.set_device_index(4)
        return [before, query(), accelerator.current_device_index()]

    before = [query(), in_child(other), query()]
    accelerator.set_device_index(1)
    return [*before, in_child(query), query(), accelerator.current_device_index()]


def queries_follow_the_environment_until_a_driver_is_initialized():
    result = []
    for text in (None, "host:2", "host:3", "none", "host:0", "hots", "", "host"):
        if text is None:
            os.environ.pop("INTERLOCK_ACCELERATOR", None)
        else:
            os.environ["INTERLOCK_ACCELERATOR"] = text
        assert query() == query()
        result.append(query())
    return result


def queries_follow_use_immediately():
    result = [query()]
    for devices in (2, 0, 5):
        accelerator.use("host", devices=devices)
        result.append(query())
    accelerator.use("none")
    result.append(query())
    return result


def queries_see_variables_set_by_c_code():
    libc = ctypes.CDLL(None)
    result = [query()]
    libc.setenv(b"INTERLOCK_ACCELERATOR", b"host:2", 1)
    result.append(query())
    os.putenv("INTERLOCK_ACCELERATOR", "host:3")
    result.append(query())
    libc.unsetenv(b"INTERLOCK_ACCELERATOR")
    result.append(query())
    return result


def queries_warn_once_of_each_variable_changed_after_first_use():
    def warned(text):
        os.environ["INTERLOCK_ACCELERATOR"] = text
        counts = []
        for question in (
            accelerator.is_available,
            accelerator.device_count,
            accelerator.current_accelerator,
            accelerator.current_device_index,
        ):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                question()
            counts.append(len(caught))
        return counts

    query()
    accelerator.current_device_index()
    return [query(), *map(warned, ("host:2", "host:3", "host:3", "host:2", "none")), query()]


def query_availability():
    counts = [accelerator.device_count() for _ in range(2)]
    current = accelerator.current_accelerator()
    current = current and str(current)
    print(json.dumps([accelerator.is_available(), counts, accelerator.unavailable_reason(), current]))


def query_devices_without_a_driver():
    result = [
        accelerator.is_available(),
        accelerator.device_count(),
        accelerator.current_accelerator(),
        accelerator.current_accelerator(check_available=True),
        accelerator.unavailable_reason(),
    ]
    try:
        interlock.device(0)
    except errors.NoAcceleratorError as error:
        result.append(str(error))
    result.append(str(interlock.device("cuda:0")))
    return result


def selected_driver_without_devices_is_unavailable():
    reported = [str(accelerator.current_accelerator(check_available=check)) for check in (False, True)]
    try:
        accelerator.current_stream()
    except interlock.errors.NoAcceleratorError as error:
        return [*reported, accelerator.is_available(), accelerator.unavailable_reason(), str(error)]


def use_several_drivers_before_first_use():
    result = []
    for name in ("host", "cuda", "host", "none"):
        accelerator.use(name)
        result.append([accelerator.device_count(), accelerator.unavailable_reason() is None])
    return result


def use_the_host_driver():
    before = accelerator.is_available(), str(accelerator.current_accelerator())
    accelerator.use("host", devices=3, memory=1 << 20)
    memory = accelerator.get_memory_info(2)
    return [before, accelerator.device_count(), memory, accelerator.is_available()]


def use_with_wrong_arguments(call):
    try:
        eval(f"accelerator.{call}")
    except Exception as error:
        return [type(error).__name__, accelerator.device_count()]


def visible_devices_apply_until_first_use_and_then_warn():
    def count():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            number = accelerator.device_count()
        return [number, [f"{warning.category.__name__}: {warning.message}" for warning in caught]]

    result = []
    for text in ("host:2", "host:3"):
        os.environ["INTERLOCK_ACCELERATOR"] = text
        result.append(count())
    interlock.Stream(2)
    os.environ["INTERLOCK_ACCELERATOR"] = "host:5"
    result += [count(), count()]
    return result
