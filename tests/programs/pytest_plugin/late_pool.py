def pool():
    import threadpoolctl

    found = threadpoolctl.ThreadpoolController().lib_controllers
    return next(each for each in found if each.user_api == "blas")


def test_load():
    import numpy

    # More than the default of any machine here, so that the write changes the number.
    pool().set_num_threads(pool().num_threads + 1)


def test_limit():
    pool().set_num_threads(pool().num_threads + 2)


def test_clean():
    import os

    assert pool().num_threads == int(os.environ["OPENBLAS_NUM_THREADS"])
