from concurrent.futures import ThreadPoolExecutor

from verbose_setup import *


def work(number):
    for _ in range(50):
        with m.verbose(1 + number % 2):
            pass


with ThreadPoolExecutor(8) as pool:
    list(pool.map(work, range(8)))
