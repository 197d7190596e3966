"""Rules for personal data."""

from __future__ import annotations

from tramapy.dlp.packs import emails, network_addresses, phones, us_numbers

__all__ = ["RULES"]

RULES = (*emails.RULES, *us_numbers.RULES, *phones.RULES, *network_addresses.RULES)
