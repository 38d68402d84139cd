"""The program `python -m interlock`.

`args` parses the command line, `collect` collects the contents as dataclasses, and `render` and `json_output`
turn them into text and JSON. `main` runs these steps.
"""
