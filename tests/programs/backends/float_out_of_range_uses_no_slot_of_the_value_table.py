from interlock import backends, errors

small = backends.register("mylib.small", 0.5, doc="x", maximum=1.0)
large = backends.register("mylib.large", 0.5, doc="x")
for n in range(5_000):
    try:
        small.value = 1e200 + n * 1e190
    except errors.FlagValueError:
        pass
large.value = 1e300
print(large.value)
