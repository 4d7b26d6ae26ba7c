"""`python -m attain.cli`."""

from attain.cli import program

program()
