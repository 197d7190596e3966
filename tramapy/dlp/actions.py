"""`DlpAction`: what a rule does to its matches."""

from __future__ import annotations

import enum

__all__ = ["DlpAction"]


class DlpAction(enum.Enum):
    """What a rule does to its matches."""

    REDACT = "redact"
    """Put the rule's replacement there."""
    MASK = "mask"
    """Put a `*` for each letter and digit but the last four, and for these too where that leaves under eight."""
    HASH = "hash"
    """Put a keyed hash there, the same for the same text: `[email:3f8a...]`."""
    BLOCK = "block"
    """Reject the whole text with `DlpInspectionError`."""
    LOG = "log"
    """Leave the text as it is and log the rule's id."""
    PLACEHOLDER = "placeholder"
    """Put a numbered placeholder there, such as `<EMAIL_1_k3f9x2b>`; the engine restores it in the answer."""
