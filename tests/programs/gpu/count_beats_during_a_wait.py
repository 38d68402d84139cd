from kernels_setup import *

(wait,) = map(json.loads, sys.argv[1:])

beats, ended, back = [], threading.Event(), bytearray(4)


def beat():
    while not ended.wait(0.01):
        beats.append(time.monotonic())


heart = threading.Thread(target=beat)
heart.start()
slow(2.0)
event = stream.record_event(Event(blocking=True))
with stream:
    begun = time.monotonic()
    exec(wait)
    waited = time.monotonic() - begun
ended.set()
heart.join()
result = [len(beats), max(later - earlier for earlier, later in zip(beats, beats[1:])), waited]

print("\n" + json.dumps(result))
