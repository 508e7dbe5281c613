"""`python -m gainsay` is the command `gainsay`."""

from .cli import main

main()
