"""Rules for credentials: keys with a known form, key blocks, and values behind a telling name."""

from __future__ import annotations

from tramapy.dlp.packs import (
    commands,
    credentials,
    foreign_passwords,
    key_blocks,
    named_values,
    password_columns,
    tokens,
)

__all__ = ["RULES"]

RULES = (
    *tokens.RULES,
    *key_blocks.RULES,
    *credentials.RULES,
    *commands.RULES,
    *named_values.RULES,
    *foreign_passwords.RULES,
    *password_columns.RULES,
)
