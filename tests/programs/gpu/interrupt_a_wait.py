from kernels_setup import *

(wait, blocking) = map(json.loads, sys.argv[1:])

# A shell makes background processes ignore interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
sent, back = [], bytearray(4)


def send():
    time.sleep(0.3)
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)


slow(2.0, 7)
event = stream.record_event(Event(blocking=blocking))
threading.Thread(target=send).start()
try:
    with stream:
        exec(wait)
except KeyboardInterrupt:
    took = time.monotonic() - sent[0]
was_running = not stream.query()
stream.synchronize()
result = [took, was_running]

print("\n" + json.dumps(result))
