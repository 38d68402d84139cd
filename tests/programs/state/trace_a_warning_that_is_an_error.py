from trace_setup import *

warnings.simplefilter("error")


def numbers():
    with no_grad():
        yield 1


generator = numbers()
next(generator)
scope = enable_grad()
try:
    scope.__enter__()
except interlock.errors.ScopeWarning:
    result = [interlock.is_grad_enabled()]
generator.close()
result.append(interlock.is_grad_enabled())
caught.__exit__()

print("\n" + json.dumps(result))
