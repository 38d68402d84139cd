"""The command `python -m interlock memory`: summarizes a memory snapshot, and writes its timeline as HTML."""
