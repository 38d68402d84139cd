"""Examples of docstrings."""

import doctest
import gc
import importlib
import json
import os
import sys


def run_examples(module_name):
    """Run each example of a module in a forked process; return the counts, the reports and the exit statuses.

    An example may select a driver, which is fixed at first use.
    """
    module = importlib.import_module(module_name)
    for name in getattr(module, "__all__", ()):
        getattr(module, name)
    gc.freeze()  # Or each child would traverse and so copy all objects.
    found = {}
    for example in doctest.DocTestFinder().find(module):
        if not example.examples:
            continue
        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:
            report = []
            result = doctest.DocTestRunner(verbose=False).run(example, out=report.append)
            with open(writing, "w") as pipe:
                json.dump([result.attempted, result.failed, "".join(report)], pipe)
            sys.exit()
        os.close(writing)
        with open(reading) as pipe:
            printed = json.loads(pipe.read() or '[0, 0, "no result"]')
        found[example.name] = [*printed, os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])]
    return found
