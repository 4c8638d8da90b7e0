"""Write the contract's documents into a folder, or say which of those that are there differ from the models."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from afterturn.schemas.documents.files import check, write


def main(arguments: list[str]) -> int:
    """Write or check the documents; 1 where a check finds a difference."""
    parser = argparse.ArgumentParser(prog="python -m afterturn.schemas.documents", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--check", action="store_true", help="write nothing, name what differs")
    options = parser.parse_args(arguments)
    if not options.check:
        write(options.folder)
        return 0
    differing = check(options.folder)
    for name in differing:
        sys.stderr.write(f"{options.folder / name} differs from the models: write the documents anew\n")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
