"""The backends of the fake, which start when their devices are queried."""

_backends = {}


class Device:
    def __init__(self, number):
        self.platform, self.id = "cpu", number


class Backend:
    def __init__(self):
        self._devices = [Device(number) for number in range(2)]

    def devices(self):
        return self._devices


def devices():
    return _backends.setdefault("cpu", Backend()).devices()
