"""The report of `python -m interlock`.

`system`, `devices`, `libraries`, `flags` and `environment` collect what there is as plain values. `pages`
says which of it a reader sees, `layout` puts that into lines, `document` puts all into JSON.
"""
