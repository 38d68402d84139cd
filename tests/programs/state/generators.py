"""Modes and suspended generators."""

import interlock


def read_a_mode_beside_a_suspended_generator():
    def numbers():
        with interlock.no_grad():  # entered
            yield 1

    for number in numbers():
        interlock.is_grad_enabled()  # seen
