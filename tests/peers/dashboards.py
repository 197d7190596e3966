"""The dashboard and the alert rules, as others read them: Grafana's own SDK, and a parser of Prometheus' language.

`make test-peers` runs it in an environment of its own. Where `promtool` is installed, it judges the rules, too.
"""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import promql_parser
import yaml
from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

_FOLDER = pathlib.Path(__file__).parents[2] / "docs" / "dashboards"
_RULES = _FOLDER / "alerts.yml"
# what Grafana puts in before it asks
_VARIABLES = {"$__rate_interval": "5m", "$__interval": "1m", "$__range": "6h"}
# options that came after the version of Grafana whose SDK this is; that version passes over them
_LATER = {"percentChangeColorMode", "showPercentChange", "wideLayout"}


def main() -> None:
    """Read both files; exits with 1 at what is not understood."""
    written = json.loads((_FOLDER / "tramapy.json").read_text(encoding="utf-8"))
    plugins.register_default_plugins()
    read = json.loads(JSONEncoder().encode(Dashboard.from_json(written)))
    lost = [path for path in _lost(written, read, "") if path.rpartition("/")[2] not in _LATER]
    if lost:
        raise SystemExit(f"Grafana's SDK does not know: {', '.join(lost)}")
    queries = [target["expr"] for panel in written["panels"] for target in panel.get("targets", ())]
    groups = yaml.safe_load(_RULES.read_text(encoding="utf-8"))["groups"]
    queries += [rule["expr"] for group in groups for rule in group["rules"]]
    for query in queries:
        for name, value in _VARIABLES.items():
            query = query.replace(name, value)
        promql_parser.parse(query)
    promtool = shutil.which("promtool")
    if promtool is not None:
        subprocess.run([promtool, "check", "rules", str(_RULES)], check=True)
    print(f"{len(written['panels'])} panels and {len(queries)} queries were understood")


def _lost(written: Any, read: Any, path: str) -> Iterator[str]:
    """Yield what does not come back as it was written."""
    if isinstance(written, dict) and isinstance(read, dict):
        for key, value in written.items():
            yield from _lost(value, read.get(key), f"{path}/{key}")
    elif isinstance(written, list) and isinstance(read, list) and len(written) == len(read):
        for number, (one, other) in enumerate(zip(written, read, strict=True)):
            yield from _lost(one, other, f"{path}/{number}")
    elif written != read:
        yield path


if __name__ == "__main__":
    main()
