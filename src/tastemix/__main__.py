"""`python -m tastemix`, and the `tastemix` command."""

import sys


def main() -> None:
    """Run the command line; a wrong environment variable is one sentence too."""
    from tastemix.errors import TastemixError

    try:
        from tastemix.cli import app
    except TastemixError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    app()


if __name__ == "__main__":
    main()
