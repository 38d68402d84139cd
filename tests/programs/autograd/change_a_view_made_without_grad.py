import interlock

base = interlock.ones(10_000, requires_grad=True) * 1
with interlock.no_grad():
    view = base[:2]
try:
    view.mul_(2)
except RuntimeError as error:
    print(error)
