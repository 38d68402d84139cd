import warnings

from interlock import backends

good = backends.register("mylib.good", 1, doc="x")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    bad = backends.register("mylib.bad", 1, doc="x")
print(good.value, *backends.explain("mylib.good")[2:4], bad.value)
print([str(warning.message) for warning in caught], caught[0].filename == __file__)
