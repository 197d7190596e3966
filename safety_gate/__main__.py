"""`python -m safety_gate`."""

import sys

from safety_gate.cli import main

sys.exit(main())
