from interlock import accelerator
from interlock.accelerator.memory import Buffer

accelerator.use("host")
buffer = Buffer(12)
answers = 0
for flags in range(0x200):
    try:
        view = buffer.__buffer__(flags)
    except (BufferError, SystemError, ValueError):
        continue
    assert (view.nbytes, len(view.tobytes())) == (12, 12)
    answers += 1
    view.release()
assert answers > 0
