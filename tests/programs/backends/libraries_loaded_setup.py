import sys


def is_loaded(name):
    with open("/proc/self/maps") as maps:
        return name in maps.read()
