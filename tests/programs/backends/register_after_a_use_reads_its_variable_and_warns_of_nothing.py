from interlock import backends

x = backends.register("q.x", 1.0, doc="x", optional=True)
assert x.value == 1.0
y = backends.register("q.y", None, type=float, doc="x")
z = backends.register("q.z", None, type=float, doc="x")
w = backends.register("q.w", 1.0, doc="x")
backends.check_variables("q")
print(y.value, z.value, w.value, backends.explain(w).set_by)
