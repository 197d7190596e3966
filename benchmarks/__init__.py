"""What tramapy costs, beside peers that do the same job, in one run: `make bench`."""
