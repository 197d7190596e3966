"""Rule packs: `secrets`, `pii` and `financial`, and `encoded`, which has to be asked for."""

from __future__ import annotations

from typing import Final

from tramapy.dlp.packs import encoded as _encoded
from tramapy.dlp.packs import financial as _financial
from tramapy.dlp.packs import pii as _pii
from tramapy.dlp.packs import secrets as _secrets
from tramapy.dlp.rules import RulePack

__all__ = ["ALL", "encoded", "financial", "pii", "secrets"]


secrets: Final = RulePack("secrets", _secrets.RULES)
"""Keys and tokens with a known prefix, key blocks, and values behind a telling name."""
pii: Final = RulePack("pii", _pii.RULES)
"""E-mail, telephone, US social security and taxpayer numbers, IP and MAC addresses."""
financial: Final = RulePack("financial", _financial.RULES)
"""Payment cards and bank accounts."""

encoded: Final = RulePack("encoded", _encoded.RULES)
"""Base64 that hides what `pii` and `financial` look for; not in `ALL`."""

ALL: Final = (secrets, pii, financial)
"""The packs that are on by default, in order of precedence."""
