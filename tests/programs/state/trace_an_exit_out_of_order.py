from trace_setup import *

first, second = no_grad(), enable_grad()
first.__enter__()  # entered
second.__enter__()  # entered later
first.__exit__(None, None, None)  # left
second.__exit__(None, None, None)

print_warnings()
