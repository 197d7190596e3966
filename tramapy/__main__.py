"""`python -m tramapy`, where the script is not on the path."""

from tramapy.cli import main

main()
