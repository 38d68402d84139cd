from trace_setup import *

(scope, consumer) = map(json.loads, sys.argv[1:])


def numbers():
    with eval(here(scope, "eval")):  # entered
        yield 1


for number in numbers():
    exec(here(consumer))  # seen
    exec(here(consumer))  # seen again

print_warnings()
