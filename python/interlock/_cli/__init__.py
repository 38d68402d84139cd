"""The program `python -m interlock`.

`args` reads the command line, `collect` collects plain values, `render` selects what a reader sees of them
and `json_output` writes all of them. `main` combines these.
"""
