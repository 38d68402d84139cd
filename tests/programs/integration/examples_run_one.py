import doctest
import importlib
import json
import sys

(given_module, given_name) = map(json.loads, sys.argv[1:])

module = importlib.import_module(given_module)
for name in getattr(module, "__all__", ()):
    getattr(module, name)
(example,) = [each for each in doctest.DocTestFinder().find(module) if each.name == given_name]
report = []
result = doctest.DocTestRunner(verbose=False).run(example, out=report.append)
answer = [result.attempted, result.failed, "".join(report)]

print("\n" + json.dumps(answer))
