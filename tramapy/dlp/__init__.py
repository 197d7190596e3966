"""Rule-based inspection of text: rule packs and rules of your own."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from tramapy.dlp.interceptor import RuleBasedDlpInterceptor
from tramapy.dlp.operators import DlpAction
from tramapy.dlp.rules import DlpRule, RuleBasedDlpConfiguration, RulePack
from tramapy.dlp.vault import RestoringText, Vault

if TYPE_CHECKING:
    from tramapy.dlp.rule_file import load_rule_file

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


def __getattr__(name: str) -> object:
    """Import the reader of rule files at its first use: TOML costs more import time than most need."""
    if name == "load_rule_file":
        return getattr(_import_module("tramapy.dlp.rule_file"), name)
    raise AttributeError(f"module 'tramapy.dlp' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, those not imported yet included."""
    return sorted(__all__)
