"""`python -m gainsay` is the command `gainsay`."""

from .cli.app import main

main()
