import interlock


def numbers():
    with interlock.no_grad():
        yield 1


for number in numbers():
    interlock.is_grad_enabled()
