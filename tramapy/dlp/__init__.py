"""Rule-based inspection of text: rule packs and rules of your own."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from tramapy.dlp.actions import DlpAction
from tramapy.dlp.interceptor import RuleBasedDlpInterceptor
from tramapy.dlp.rules import DlpRule, RuleBasedDlpConfiguration, RulePack

if TYPE_CHECKING:
    from tramapy.dlp.rule_file import load_rule_file
    from tramapy.dlp.vault import RestoringText, Vault

__all__ = [
    "DlpAction",
    "DlpRule",
    "RestoringText",
    "RuleBasedDlpConfiguration",
    "RuleBasedDlpInterceptor",
    "RulePack",
    "Vault",
    "load_rule_file",
]


_LAZY = {
    "RestoringText": "tramapy.dlp.vault",
    "Vault": "tramapy.dlp.vault",
    "load_rule_file": "tramapy.dlp.rule_file",
}


def __getattr__(name: str) -> object:
    """Import at first use what costs more import time than most need."""
    if name in _LAZY:
        return getattr(_import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'tramapy.dlp' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, those not imported yet included."""
    return sorted(__all__)
