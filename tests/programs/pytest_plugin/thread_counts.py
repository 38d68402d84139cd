import numpy
import threadpoolctl

pool = next(each for each in threadpoolctl.ThreadpoolController().lib_controllers if each.user_api == "blas")
pool.set_num_threads(2)


def test_limit():
    threadpoolctl.threadpool_limits(1)


def test_clean():
    assert pool.num_threads == 2
