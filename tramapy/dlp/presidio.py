"""`PresidioDlpInterceptor`: names, addresses and whatever else an analyzer of Presidio finds.

Nothing here imports Presidio: the analyzer is the caller's.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Collection, Mapping, Sequence
from typing import Protocol

import anyio
import anyio.to_thread

from tramapy.cancellation import rethrow_if_cancellation
from tramapy.dlp.claims import Claim, united_claims
from tramapy.dlp.json_place import JsonPlace
from tramapy.dlp.json_spans import fitted_spans, is_json
from tramapy.dlp.limited_stream import text_too_long_error
from tramapy.dlp.packs import ALL
from tramapy.errors import ConfigurationError, DlpInspectionError
from tramapy.hooks.dlp import DlpContentType, DlpContext, DlpInterceptor, DlpRedaction, DlpResult

__all__ = ["Finding", "PresidioAnalyzer", "PresidioDlpInterceptor"]

_NOT_IN_IDS = re.compile(r"[^a-z0-9._:-]")
_MARKER = re.compile(r"\[REDACTED:[a-z0-9._:-]{1,128}\]")
_INSTEAD = ("[REDACTED]", "*****")
_CERTAIN = 1.0


class Finding(Protocol):
    """The part of Presidio's `RecognizerResult` that we use; places are in code points."""

    entity_type: str
    start: int
    end: int
    score: float


class PresidioAnalyzer(Protocol):
    """The part of Presidio's `AnalyzerEngine` that we use."""

    def analyze(
        self,
        text: str,
        language: str,
        entities: list[str] | None = ...,
        *,
        score_threshold: float | None = ...,
    ) -> Sequence[Finding]:
        """Find entities."""
        ...

    def get_supported_entities(self, language: str | None = ...) -> list[str]:
        """Return the names of the entities that can be found."""
        ...


class PresidioDlpInterceptor(DlpInterceptor):
    """Redacts what an analyzer of Presidio finds.

    Where an event loop runs, the analyzer works in a thread, and a cancellation does not wait for it; elsewhere
    it works here and now. It cannot inspect a text while it arrives, so a stream is held back until it is whole.

    Args:
        analyzer: An `AnalyzerEngine`; it must be safe under threads, as Presidio's own recognisers are.
        entities: The entities to find; None for all that the analyzer knows.
        language: The language of the texts.
        score_threshold: The least score that counts; None for the analyzer's own.
        replacements: What is put in the place of an entity, by its name; `[REDACTED:person]` and so on for others.
        enabled_for: The kinds of text to inspect; others pass as they are.
        max_text_length: The limit in characters; a longer text is refused. None sets no limit.
        uses_thread: Whether to work in a thread and return an awaitable; None: where an event loop runs. False is
            for a `Tramapy` that is called inside of one.
        limiter: Bounds how many texts are inspected at once; None for the limit of all worker threads.

    Raises:
        ConfigurationError: An entity or the language is unknown to the analyzer, or a value cannot work.
        TypeError: `analyzer` is no analyzer.
    """

    def __init__(
        self,
        analyzer: PresidioAnalyzer,
        *,
        entities: Collection[str] | None = None,
        language: str = "en",
        score_threshold: float | None = None,
        replacements: Mapping[str, str] | None = None,
        enabled_for: Collection[DlpContentType] = frozenset(DlpContentType),
        max_text_length: int | None = 100_000,
        uses_thread: bool | None = None,
        limiter: anyio.CapacityLimiter | None = None,
    ) -> None:
        if not callable(getattr(analyzer, "analyze", None)):
            raise TypeError(
                f"PresidioDlpInterceptor takes an AnalyzerEngine, not {type(analyzer).__name__}; make one with "
                f"presidio_analyzer.AnalyzerEngine()"
            )
        known = _known_entities(analyzer, language)
        wanted = known if entities is None else sorted(_checked_names("entities", entities))
        unknown = [name for name in (*wanted, *(replacements or ())) if name not in known]
        if unknown:
            raise ConfigurationError(
                f"The analyzer finds no {', '.join(sorted(set(unknown)))} in language {language!r}; it finds "
                f"{', '.join(known)}"
            )
        _check_limits(score_threshold, max_text_length)
        self._analyzer = analyzer
        self._entities = None if entities is None else wanted
        self._language = language
        self._score_threshold = score_threshold
        self._replacements = dict(replacements or {})
        self._enabled_for = frozenset(enabled_for)
        self._max_text_length = max_text_length
        self._uses_thread = uses_thread
        self._limiter = limiter
        # What stands in the text already, from here or from the packs, is no name of a person.
        self._markers = frozenset(
            (
                *(rule.replacement for pack in ALL for rule in pack.rules),
                *(_marker(_id_part(name)) for name in known),
                *self._replacements.values(),
            )
        )

    def inspect(self, context: DlpContext, text: str) -> DlpResult | Awaitable[DlpResult]:
        """Return `text` redacted, with one redaction an entity: `presidio.person`.

        Raises:
            DlpInspectionError: The text is longer than `max_text_length`, or the analyzer failed.
        """
        if not text or context.content_type not in self._enabled_for:
            return DlpResult(text)
        if self._max_text_length is not None and len(text) > self._max_text_length:
            raise text_too_long_error(self._max_text_length)
        uses_thread = _is_in_event_loop() if self._uses_thread is None else self._uses_thread
        return self._in_thread(text) if uses_thread else self._inspect(text)

    async def _in_thread(self, text: str) -> DlpResult:
        return await anyio.to_thread.run_sync(
            self._inspect, text, abandon_on_cancel=True, limiter=self._limiter
        )

    def _inspect(self, text: str) -> DlpResult:
        found = self._found(text)
        names = sorted({finding.entity_type for finding in found})
        claims = [
            Claim(finding.start, -finding.end, finding.score < _CERTAIN, names.index(finding.entity_type))
            for finding in found
        ]
        cuts = united_claims(self._outside_markers(claims, text))
        if cuts and is_json(text):
            cuts = fitted_spans(text, cuts)
        return self._spliced(text, cuts, names) if cuts else DlpResult(text)

    def _found(self, text: str) -> Sequence[Finding]:
        """Ask the analyzer; an error of its own may hold the text, so it goes no further."""
        kind = ""
        try:
            found = self._analyzer.analyze(
                text, self._language, self._entities, score_threshold=self._score_threshold
            )
            if all(0 <= finding.start < finding.end <= len(text) for finding in found):
                return found
        except Exception as error:
            rethrow_if_cancellation(error)
            kind = type(error).__name__
        # Raised out here, so that no context leads to frames that hold the text.
        if kind:
            raise DlpInspectionError(f"Presidio's analyzer failed with {kind}; the text was withheld")
        raise DlpInspectionError(
            "Presidio's analyzer found something outside of the text; the text was withheld"
        )

    def _outside_markers(self, claims: Sequence[Claim], text: str) -> list[Claim]:
        markers = [
            match.span() for match in _MARKER.finditer(text) if match.group() in self._markers
        ] if claims else []  # fmt: skip
        return [
            claim
            for claim in claims
            if not any(start <= claim.start and claim.end <= end for start, end in markers)
        ]

    def _spliced(self, text: str, cuts: Sequence[Claim], names: Sequence[str]) -> DlpResult:
        place = JsonPlace()
        pieces: list[str] = []
        counts: dict[str, int] = {}
        done = 0
        for cut in cuts:
            place.read(text[done : cut.start])
            matched = text[cut.start : cut.end]
            name = names[cut.rank]
            pieces += (text[done : cut.start], place.fit(self._replacement(name, matched), matched))
            place.read(matched)
            rule_id = f"presidio.{_id_part(name)}"
            counts[rule_id] = counts.get(rule_id, 0) + 1
            done = cut.end
        pieces.append(text[done:])
        return DlpResult("".join(pieces), (DlpRedaction(rule_id, count) for rule_id, count in counts.items()))

    def _replacement(self, name: str, matched: str) -> str:
        """Return what to put there; it never shows the match, such as the word `person` for a person."""
        wanted = self._replacements.get(name, _marker(_id_part(name)))
        shown = matched.casefold()
        return next((text for text in (wanted, *_INSTEAD) if shown not in text.casefold()), "")


def _known_entities(analyzer: PresidioAnalyzer, language: str) -> list[str]:
    try:
        return sorted(analyzer.get_supported_entities(language))
    except Exception as error:
        raise ConfigurationError(f"The analyzer has no language {language!r}") from error


def _check_limits(score_threshold: float | None, max_text_length: int | None) -> None:
    if not isinstance(score_threshold, float | int | None):
        raise TypeError(f"score_threshold takes a number or None, not {type(score_threshold).__name__}")
    if score_threshold is not None and not 0 <= score_threshold <= 1:
        raise ConfigurationError("score_threshold is a number from 0 to 1")
    if isinstance(max_text_length, bool) or not isinstance(max_text_length, int | None):
        raise TypeError(f"max_text_length takes an int or None, not {type(max_text_length).__name__}")
    if max_text_length is not None and max_text_length < 1:
        raise ConfigurationError("max_text_length is at least 1, or None")


def _checked_names(name: str, values: Collection[str]) -> Collection[str]:
    if isinstance(values, str) or not all(isinstance(value, str) for value in values):
        raise TypeError(f"{name} takes names of entities, such as ['PERSON', 'LOCATION']")
    if not values:
        raise ConfigurationError(f"{name} is empty; name an entity, or write None for all")
    return values


def _id_part(name: str) -> str:
    return _NOT_IN_IDS.sub("_", name.lower())[:100]


def _marker(id_part: str) -> str:
    return f"[REDACTED:{id_part}]"


def _is_in_event_loop() -> bool:
    try:
        anyio.get_cancelled_exc_class()
    except RuntimeError:  # what both anyio and sniffio raise outside of a loop
        return False
    return True
