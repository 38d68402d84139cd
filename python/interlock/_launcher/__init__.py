"""The program `python -m interlock.backends.xeon.run_cpu`.

`args` reads the command line, `topology` reads the machine and `discovery` looks for libraries and numactl.
`plan` decides from these what runs where, without asking the machine. `render` shows the plan and
`supervisor` runs it. `main` combines these.
"""
