"""The plan caches of cuFFT."""

from interlock import backends, device, errors
from interlock.backends import cuda

caches = cuda.cufft_plan_cache


def error(action, *classes):
    try:
        action()
    except classes as caught:
        return [type(caught).__name__, str(caught)]
    raise AssertionError("nothing was raised")


def every_access_without_a_device_raises():
    actions = [lambda key=key: caches[key] for key in (0, 5, -1, "cuda:0", device("cuda:0"))]
    actions += [lambda: caches.size, lambda: caches.max_size, lambda: setattr(caches, "max_size", 3)]
    actions += [caches.clear, lambda: cuda.cuFFTPlanCache(0).max_size, cuda.cuFFTPlanCache(0).clear]
    return [error(action, RuntimeError) for action in actions]


def every_device_has_its_own_cache():
    result = [[caches[key].max_size for key in (0, 1, "cuda:1", device("cuda", 1))]]
    caches["cuda:1"].max_size = 7
    caches[0].max_size = 0
    result.append([caches[key].max_size for key in (0, 1, "cuda:1", device("cuda", 1))])
    result.append([cuda.cuFFTPlanCache(index).max_size for index in (0, 1)])
    caches[1].clear()
    result.append([caches[1].max_size, caches[1].size, caches[1].device_index])
    return result


def manager_has_the_attributes_of_the_current_device():
    caches.max_size = 2**63 - 1
    caches.clear()
    result = [caches.max_size, caches.size, caches.device_index]
    result += [caches[0].max_size, caches[1].max_size, cuda.cuFFTPlanCacheManager().max_size]
    return result


def max_size_is_validated_named_and_can_be_frozen():
    wrong = (-1, 2**63, True, "7", 1.5, None)
    result = []
    for given in wrong:
        result.append(error(lambda: setattr(caches[1], "max_size", given), ValueError, TypeError))
        assert result[-1] == error(lambda: setattr(caches[1], "max_size", given), RuntimeError)
    with backends.frozen():
        result.append(error(lambda: setattr(caches[1], "max_size", 3), RuntimeError))
        caches[1].clear()
    assert caches[1].max_size == 4096
    return result


def missing_cuda_device_is_refused_with_the_available_ones():
    def wrong(key):
        raised = error(lambda: caches[key], ValueError)
        assert raised == error(lambda: caches[key], RuntimeError)
        return raised

    result = [wrong(key) for key in (2, -1, 128, "cuda:2", device("cuda:2"))]
    result += [wrong(key) for key in ("cpu", "cuda", device("cpu", 0), "nope", None, 1.5, True, 10**30)]
    result.append(error(lambda: cuda.cuFFTPlanCache(5).max_size, RuntimeError))
    result.append(error(cuda.cuFFTPlanCache(5).clear, RuntimeError))
    return result


def without_a_driver_the_plan_caches_give_one_clear_error():
    caches, reported = cuda.cufft_plan_cache, set()
    for action in (lambda: caches[0], lambda: caches.max_size, caches.clear):
        try:
            action()
        except errors.NoAcceleratorError as error:
            reported.add(str(error))
    return list(reported)
