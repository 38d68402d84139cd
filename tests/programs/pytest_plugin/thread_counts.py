import interlock
import numpy
import threadpoolctl

pool = next(each for each in threadpoolctl.ThreadpoolController().lib_controllers if each.user_api == "blas")
pool.set_num_threads(2)
interlock.set_num_threads(2)


def test_limit():
    threadpoolctl.threadpool_limits(1, user_api="blas")


def test_native_call():
    pool.dynlib.scipy_openblas_set_num_threads64_(1)


def test_interlock():
    interlock.set_num_threads(3)


def test_scope():
    with threadpoolctl.threadpool_limits(1):
        pass


def test_clean():
    assert pool.num_threads == 2
    assert interlock.get_num_threads() == 2
