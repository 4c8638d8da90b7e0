"""``afterturn``: the one command; ``python -m afterturn.consumers`` is the same."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    from afterturn.consumers.cli.app import run

    run()


if __name__ == "__main__":
    main()
