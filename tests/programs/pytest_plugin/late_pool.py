def pool():
    import threadpoolctl

    found = threadpoolctl.ThreadpoolController().lib_controllers
    return next(each for each in found if each.user_api == "blas")


def test_load():
    import numpy

    pool().set_num_threads(2)


def test_limit():
    pool().set_num_threads(1)


def test_clean():
    assert pool().num_threads == 2
