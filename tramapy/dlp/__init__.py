"""Rule-based inspection of text."""

from tramapy.dlp.interceptor import RuleBasedDlpInterceptor
from tramapy.dlp.rules import DlpRule, RuleBasedDlpConfiguration

__all__ = ["DlpRule", "RuleBasedDlpConfiguration", "RuleBasedDlpInterceptor"]
