"""A program that registers a carried value, whose functions end with the interpreter."""

from interlock import state

value = 0


def save():
    return value


def restore(saved):
    global value
    value = saved


registration = state.register_carried("a value", save, restore)
