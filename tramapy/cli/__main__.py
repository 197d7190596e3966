"""`python -m tramapy.cli`, where the script is not on the path."""

from tramapy.cli import main

main()
