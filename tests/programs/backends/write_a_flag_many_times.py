from interlock import backends

for number in range(1_100):
    backends.cudnn.benchmark_limit = number
kept = [write.value for write in backends.writes()]
assert kept == list(range(100, 1_100)), kept
