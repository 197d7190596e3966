"""Rule-based inspection of text: rule packs and rules of your own."""

from tramapy.dlp.interceptor import RuleBasedDlpInterceptor
from tramapy.dlp.operators import DlpAction
from tramapy.dlp.rules import DlpRule, RuleBasedDlpConfiguration, RulePack
from tramapy.dlp.vault import RestoringText, Vault

__all__ = [
    "DlpAction",
    "DlpRule",
    "RestoringText",
    "RuleBasedDlpConfiguration",
    "RuleBasedDlpInterceptor",
    "RulePack",
    "Vault",
]
