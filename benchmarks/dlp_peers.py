"""What peers need for the same texts, in an environment of its own: `make bench-peers`.

Only patterns: no peer runs a language model here, and none asks the network. What is not installed is left out.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable

from benchmarks.dlp_rules import CONTEXT
from benchmarks.dlp_texts import RE_25, clean, dirty
from tramapy.dlp import RuleBasedDlpInterceptor
from tramapy.dlp.finders import load_re2

_LENGTHS = {"1 KB": 1_000, "10 KB": 10_000}
_ENTITIES = ["CREDIT_CARD", "US_SSN", "IBAN_CODE", "EMAIL_ADDRESS", "PHONE_NUMBER", "IP_ADDRESS"]
_LONGEST_S = 2.0

Redact = Callable[[str], object]


def main() -> None:
    """Print the CPU time of each, and how many times ours that is."""
    texts = {
        f"{kind} {name}": make(length)
        for kind, make in (("clean", clean), ("dirty", dirty))
        for name, length in _LENGTHS.items()
    }
    print(
        "Redaction by patterns: CPU time in microseconds, and times that of tramapy on the standard library"
    )
    print(f"  {'':<40}" + "".join(f"{name:>24}" for name in texts))
    ours: dict[str, float] = {}
    for name, make in _CANDIDATES.items():
        try:
            redact = make()
        except ImportError as error:
            print(f"  {name:<40} left out: {error.name or 'a part of it'} is not installed")
            continue
        figures = {text_name: _best_us(redact, text) for text_name, text in texts.items()}
        ours = ours or figures
        cells = (f"{figure:>13.0f} {figure / ours[key]:>8.1f} x" for key, figure in figures.items())
        print(f"  {name:<40} " + " ".join(cells))


def _tramapy() -> Redact:
    interceptor = RuleBasedDlpInterceptor.with_default_rules(backend="stdlib")
    return lambda text: interceptor.inspect(CONTEXT, text)


def _tramapy_re2() -> Redact:
    if load_re2() is None:
        raise ImportError(name="google-re2")
    interceptor = RuleBasedDlpInterceptor.with_default_rules(backend="re2")
    return lambda text: interceptor.inspect(CONTEXT, text)


def _plain() -> Redact:
    re = importlib.import_module("re")
    patterns = [re.compile(pattern) for pattern in RE_25]

    def redact(text: str) -> str:
        for pattern in patterns:
            text = pattern.sub("[#]", text)
        return text

    return redact


def _presidio(entities: list[str] | None) -> Callable[[], Redact]:
    def make() -> Redact:
        presidio = importlib.import_module("presidio_analyzer")
        spacy = importlib.import_module("spacy")
        engines = importlib.import_module("presidio_analyzer.nlp_engine")
        engine = engines.SpacyNlpEngine()
        engine.nlp = {"en": spacy.blank("en")}
        analyzer = presidio.AnalyzerEngine(nlp_engine=engine, supported_languages=["en"])
        return lambda text: analyzer.analyze(text, "en", entities)

    return make


def _langchain() -> Redact:
    module = importlib.import_module("langchain.agents.middleware.pii")
    rules = [
        module.PIIMiddleware(kind, strategy="redact")
        for kind in ("email", "credit_card", "ip", "mac_address", "url")
    ]

    def redact(text: str) -> str:
        for rule in rules:
            text = rule._process_content(text)[0]
        return text

    return redact


def _scrubadub() -> Redact:
    module = importlib.import_module("scrubadub")
    return module.Scrubber().clean


def _detect_secrets() -> Redact:
    scan = importlib.import_module("detect_secrets.core.scan")
    settings = importlib.import_module("detect_secrets.settings")

    def redact(text: str) -> list[object]:
        with settings.default_settings():
            return [found for line in text.split("\n") for found in scan.scan_line(line)]

    return redact


_CANDIDATES: dict[str, Callable[[], Redact]] = {
    "tramapy, stdlib": _tramapy,
    "tramapy, re2": _tramapy_re2,
    "stdlib re, 25 patterns": _plain,
    "Presidio, 6 entities, no model": _presidio(_ENTITIES),
    "Presidio, all patterns, no model": _presidio(None),
    "LangChain, 5 detectors": _langchain,
    "scrubadub": _scrubadub,
    "detect-secrets": _detect_secrets,
}


def _best_us(redact: Redact, text: str) -> float:
    redact(text)
    best_s = float("inf")
    ends_s = time.monotonic() + _LONGEST_S
    for _ in range(50):
        started_s = time.thread_time()
        redact(text)
        best_s = min(best_s, time.thread_time() - started_s)
        if time.monotonic() > ends_s:
            break
    return best_s * 1e6


if __name__ == "__main__":
    main()
