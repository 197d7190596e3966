"""CPU time of all rule packs: clean, dirty, streamed and hostile text, beside 25 plain patterns in the same run.

The bars are for a machine on which the 25 patterns need 4.4 ms for 10 KB, and are scaled by what they need here.

Run: `python -m benchmarks.dlp_packs [hostile]`
"""

from __future__ import annotations

import gc
import math
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence

from benchmarks.dlp_rules import CONTEXT
from benchmarks.dlp_texts import HOSTILE, MATCHING, RE_25, clean, dirty, hostile
from benchmarks.measure import row
from tramapy.dlp import RuleBasedDlpInterceptor
from tramapy.dlp.finders import load_re2
from tramapy.dlp.interceptor import Backend

_LENGTHS = {"1 KB": 1_000, "10 KB": 10_000, "1 MB": 1_000_000}
_BARS_US: dict[str, dict[tuple[str, str], float]] = {
    "stdlib": {
        ("clean", "1 KB"): 30,
        ("clean", "10 KB"): 250,
        ("clean", "1 MB"): 28_000,
        ("dirty", "1 KB"): 45,
        ("dirty", "1 MB"): 50_000,
    },
    "re2": {
        ("clean", "1 KB"): 6,
        ("clean", "10 KB"): 30,
        ("clean", "1 MB"): 2_500,
        ("dirty", "1 KB"): 15,
        ("dirty", "1 MB"): 25_000,
    },
}
_RATIO_BARS = {"stdlib": 15.0, "re2": 120.0}
_DELTA_BARS_US = {"stdlib": 20.0, "re2": 10.0}
_DELTA_LENGTH = 4
_HOSTILE_LENGTH = 100_000
_HOSTILE_BARS = {"stdlib": 8.0, "re2": 4.0}
_GROWTH_BAR = 2.3
_LONGEST_US = 200_000.0
_HELD_BARS = (8, 64)
_IMPORT_BARS_MS = {"stdlib": 10.0, "re2": 30.0}
_REFERENCE_US = 4_400.0
_IMPORTS = 11


def main() -> None:
    """Print every figure with its bar."""
    print(
        "DLP packs: CPU time, all rules (bars are for a machine where 25 plain patterns need 4.4 ms for 10 KB)"
    )
    reference_us = _reference_us()
    scale = reference_us / _REFERENCE_US
    print(row("25 plain patterns, clean 10 KB", reference_us, "us", note=f"scale {scale:.2f}"))
    stdlib_us = 0.0
    for backend in _backends():
        interceptor = RuleBasedDlpInterceptor.with_default_rules(backend=backend)
        _print_whole(backend, interceptor, reference_us, scale)
        _print_stream(backend, interceptor, scale)
        text = clean(_HOSTILE_LENGTH)
        own_us = _best_us(lambda text=text, made=interceptor: made.inspect(CONTEXT, text), 9)
        stdlib_us = stdlib_us or own_us
        _print_hostile(backend, hostile_figures(interceptor, own_us), own_us / stdlib_us)
        _print_matching(backend, interceptor)
    _print_held()
    _print_import()


def _backends() -> tuple[Backend, ...]:
    return ("stdlib",) if load_re2() is None else ("stdlib", "re2")


def _reference_us() -> float:
    patterns = [re.compile(pattern) for pattern in RE_25]
    text = clean(10_000)
    return _best_us(lambda: [pattern.findall(text) for pattern in patterns], 15)


def _print_whole(
    backend: Backend, interceptor: RuleBasedDlpInterceptor, reference_us: float, scale: float
) -> None:
    for kind, make in (("clean", clean), ("dirty", dirty)):
        for name, length in _LENGTHS.items():
            # several texts, so that the place of the first planted item does not decide
            texts = [
                make(length, seed) for seed in range(20 if length < 10_000 else 5 if length < 10**6 else 1)
            ]
            spent_us = statistics.mean(
                _best_us(lambda text=text: interceptor.inspect(CONTEXT, text), 9) for text in texts
            )
            bar = _BARS_US[backend].get((kind, name))
            note = f"{sum(map(len, texts)) / len(texts) / spent_us:.0f} MB/s"
            print(row(f"{backend}, {kind} {name}", spent_us, "us", bar and round(bar * scale, 1), note))
            if (kind, name) == ("clean", "10 KB"):
                ratio = reference_us / spent_us
                verdict = "met" if ratio >= _RATIO_BARS[backend] else "MISSED"
                print(
                    f"    {ratio:.0f} x quicker than 25 plain patterns; bar {_RATIO_BARS[backend]:g} x: {verdict}"
                )


def _print_stream(backend: Backend, interceptor: RuleBasedDlpInterceptor, scale: float) -> None:
    for kind, make in (("clean", clean), ("dirty", dirty)):
        text = make(20_000)
        deltas = [text[start : start + _DELTA_LENGTH] for start in range(0, len(text), _DELTA_LENGTH)]

        def run(deltas: list[str] = deltas) -> None:
            stream = interceptor.open_stream(CONTEXT)
            for delta in deltas:
                stream.feed(delta)
            stream.finish()

        spent_us = _best_us(run, 7) / len(deltas)
        print(
            row(
                f"{backend}, {kind}, stream delta of 4 characters",
                spent_us,
                "us",
                round(_DELTA_BARS_US[backend] * scale, 1),
            )
        )


def _print_hostile(backend: Backend, figures: Sequence[tuple[str, float, float]], share: float) -> None:
    """Print how much longer hostile text takes than clean text.

    Args:
        backend: What was measured.
        figures: For each shape its name, its time relative to clean text of this backend, and how it grows.
        share: What clean text takes, relative to the standard library.
    """
    bar = _HOSTILE_BARS[backend]
    print(
        f"  {backend}: hostile text of 100 KB, the slowest first; relative to its own clean text (bar {bar:g} x), "
        f"to clean text with the standard library, and t(2n)/t(n) (bar {_GROWTH_BAR:g})"
    )
    over = [figure for figure in figures if figure[1] > bar]
    over_stdlib = [figure for figure in figures if figure[1] * share > _HOSTILE_BARS["stdlib"]]
    grown = [figure for figure in figures if figure[2] > _GROWTH_BAR]
    for name, relative, growth in sorted(figures, key=lambda figure: -figure[1])[: max(8, len(over))]:
        print(f"    {name:<48} {relative:>8.2f} x {relative * share:>8.2f} x   t(2n)/t(n) {growth:.2f}")
    worst = max(figures, key=lambda figure: figure[1])
    print(
        row(
            f"{backend}, worst of {len(figures)}: {worst[0]}",
            worst[1],
            "x",
            bar,
            f"{len(over)} over",
        )
    )
    print(
        row(
            f"{backend}, the same relative to clean text with the standard library",
            worst[1] * share,
            "x",
            _HOSTILE_BARS["stdlib"],
            f"{len(over_stdlib)} over",
        )
    )
    grower = max(figures, key=lambda figure: figure[2])
    print(row(f"{backend}, growth: {grower[0]}", grower[2], "x", _GROWTH_BAR, f"{len(grown)} over"))


def hostile_figures(interceptor: RuleBasedDlpInterceptor, base_us: float) -> list[tuple[str, float, float]]:
    """Return for each hostile shape its name, its time relative to clean text, and how the time grows.

    A shape whose time grows too fast is not run in full length: what it would take is reckoned from there.
    """
    figures: list[tuple[str, float, float]] = []
    for name, piece in HOSTILE.items():
        length = _HOSTILE_LENGTH // 16
        spent_us = _spent_us(interceptor, hostile(piece, length))
        growth = 2.0
        while length < 2 * _HOSTILE_LENGTH and spent_us < _LONGEST_US:
            length *= 2
            before_us, spent_us = spent_us, _spent_us(interceptor, hostile(piece, length))
            growth = spent_us / before_us
        relative = spent_us * growth ** math.log2(_HOSTILE_LENGTH / length) / base_us
        figures.append((name, relative, growth))
    return figures


def _spent_us(interceptor: RuleBasedDlpInterceptor, text: str) -> float:
    return _best_us(lambda: interceptor.inspect(CONTEXT, text), 3)


def _print_matching(backend: Backend, interceptor: RuleBasedDlpInterceptor) -> None:
    for name, piece in MATCHING.items():
        text = piece * (_HOSTILE_LENGTH // len(piece))
        count = sum(
            redaction.replacement_count for redaction in interceptor.inspect(CONTEXT, text).redactions
        )
        spent_us = _best_us(lambda text=text: interceptor.inspect(CONTEXT, text), 3)
        print(row(f"{backend}, 100 KB of nothing but {name}, a match", spent_us / count, "us"))


def _print_held() -> None:
    interceptor = RuleBasedDlpInterceptor.with_default_rules()
    stream = interceptor.open_stream(CONTEXT)
    source = random.Random(7)
    text = clean(200_000)
    held: list[int] = []
    done = released = 0
    while done < len(text):
        piece = text[done : done + source.randint(1, 8)]
        done += len(piece)
        released += len(stream.feed(piece))
        held.append(done - released)
    cuts = statistics.quantiles(held, n=100)
    print(row("held back on clean text, median", cuts[49], "characters", _HELD_BARS[0]))
    print(row("held back on clean text, p99", cuts[98], "characters", _HELD_BARS[1], f"most {max(held)}"))


def _print_import() -> None:
    """Print what the import adds to that of `tramapy`, in processes of their own."""
    code = (
        "import time, tramapy; started = time.process_time(); {}import tramapy.dlp; "
        "from tramapy.dlp import RuleBasedDlpInterceptor; print(time.process_time() - started)"
    )
    for backend in _backends():
        spent_ms = _least_ms(code.format("import re2; " if backend == "re2" else ""))
        bar_ms = _IMPORT_BARS_MS[backend]
        print(row(f"import tramapy.dlp over import tramapy, {backend}", spent_ms, "ms", bar_ms))
        spent_ms = _least_ms(
            "import time, tramapy.dlp; started = time.process_time(); "
            f"tramapy.dlp.RuleBasedDlpInterceptor.with_default_rules(backend='{backend}'); "
            "print(time.process_time() - started)"
        )
        print(row(f"making an interceptor with all packs, {backend}", spent_ms, "ms"))


def _least_ms(script: str) -> float:
    """Return the least that a script says it took, in processes that find their modules compiled."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)

        def spent_ms() -> float:
            run = [sys.executable, "-c", script]
            return float(subprocess.run(run, capture_output=True, check=True, env=environment).stdout) * 1e3

        spent_ms()  # compiles them
        return min(spent_ms() for _ in range(_IMPORTS))


def _best_us(run: Callable[[], object], rounds: int) -> float:
    """Return the best CPU time of some rounds, each long enough to measure."""
    gc.collect()
    started_s = time.thread_time()
    run()
    once_s = time.thread_time() - started_s
    calls = max(1, int(0.002 / max(once_s, 1e-7)))
    best_s = once_s
    for _ in range(1 if once_s > 0.5 else rounds):
        started_s = time.thread_time()
        for _ in range(calls):
            run()
        best_s = min(best_s, (time.thread_time() - started_s) / calls)
    return best_s * 1e6


if __name__ == "__main__":
    main()
