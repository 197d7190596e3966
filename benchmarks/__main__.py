"""Run every benchmark that needs nothing but the project's own environment."""

from benchmarks import attempt, audit, breaker, dlp_packs, dlp_rules, footprint, gate, logs, telemetry, wrap

for benchmark in (attempt, breaker, audit, telemetry, logs, dlp_packs, dlp_rules, footprint, gate, wrap):
    benchmark.main()
    print()
