"""The program `python -m interlock.backends.xeon.run_cpu`.

`args` parses the command line, `topology` reads the cores and nodes of the machine, and `discovery` searches
for libraries and numactl. From these, `plan` computes the instances, without accessing the system. `render`
prints the plan and `supervisor` runs it. `main` runs these steps.
"""
