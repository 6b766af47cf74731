"""Compares the answers that calls.py got from two servers, key by key.

    python compare.py OURS.json THEIRS.json DIFFERENCES.json

Every difference goes to DIFFERENCES.json with its path, both values and a
reason. The reasons that are allowed are: id, time, ordering, and not_covered
(an endpoint in NOT_COVERED, which the documentation names). Ends with 1 when a
difference has no such reason.
"""

from __future__ import annotations

import json
import pathlib
import re
import sys
from collections.abc import Iterator
from typing import Any

# Endpoints whose answers may differ, as "METHOD path" with {id} for an id.
NOT_COVERED: dict[str, str] = {}

# A type of event that comes as often as the producer flushes or the clock ticks.
TIMED = {"session.heartbeat", "response.output_text.delta", "session.child_session.updated", "session.presence"}

ID = re.compile(
    r"\b(?:runner_token_|elicit_|pending_|turn_|resp_|msg_|conv_|file_)?[0-9a-f]{32}\b"
    r"|\b[0-9a-f]{64}\b|\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b|\bresp_[0-9A-Za-z]+\b|/tmp/clientlib-\w+"
)
MESSAGE_ID = re.compile(r"^<id>(:\d+)?$")
TIME_KEY = re.compile(r"(_at|^date|_ms)$")

Difference = dict[str, Any]


def shape(text: str) -> str:
    """A text with its ids taken out."""
    return ID.sub("<id>", text)


def endpoint(row: dict[str, Any]) -> str:
    """What was asked: the method and the path without ids."""
    return f"{row['method']} {shape(row['path'])}"


def settled(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The answers of a call; of the same question asked in a row, the last one."""
    out: list[dict[str, Any]] = []
    for row in rows:
        if out and (endpoint(out[-1]), out[-1]["query"]) == (endpoint(row), row["query"]):
            out.pop()
        out.append(row)
    return out


def by_type(events: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """A stream's events, sorted by type: how types interleave is ordering."""
    out: dict[str, list[dict[str, Any]]] = {}
    for event in events:
        out.setdefault(event.get("type", "?"), []).append(event)
    return {typ: rows[:1] if typ in TIMED else rows for typ, rows in out.items()}


def plain(value: Any) -> Any:
    """A value without what may differ, to find it again at another place."""
    if isinstance(value, dict):
        return {k: "<time>" if TIME_KEY.search(k) and isinstance(v, (int, float)) else plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return sorted((plain(v) for v in value), key=lambda v: json.dumps(v, sort_keys=True))
    return shape(value) if isinstance(value, str) else value


def differences(path: str, ours: Any, theirs: Any, key: str = "") -> Iterator[Difference]:
    """Every difference of two values."""

    def found(reason: str) -> Difference:
        return {"path": path, "ours": ours, "theirs": theirs, "reason": reason}

    if isinstance(ours, dict) and isinstance(theirs, dict):
        for k in sorted(ours.keys() | theirs.keys()):
            if k not in ours or k not in theirs:
                side = "ours" if k in ours else "theirs"
                yield {"path": f"{path}.{k}", side: ours.get(k, theirs.get(k)), "reason": f"only in {side}"}
                continue
            yield from differences(f"{path}.{k}", ours[k], theirs[k], k)
    elif isinstance(ours, list) and isinstance(theirs, list):
        if len(ours) != len(theirs):
            yield {**found("length")}
            return
        inner = [d for n, (a, b) in enumerate(zip(ours, theirs)) for d in differences(f"{path}[{n}]", a, b, key)]
        if any(d["reason"] not in ALLOWED for d in inner) and plain(ours) == plain(theirs):
            yield found("ordering")
            return
        yield from inner
    elif ours == theirs and type(ours) is type(theirs):
        return
    elif isinstance(ours, str) and isinstance(theirs, str) and shape(ours) == shape(theirs):
        yield found("id")
    elif isinstance(ours, str) and isinstance(theirs, str) and MESSAGE_ID.match(shape(ours)) and MESSAGE_ID.match(shape(theirs)):
        yield found("id")
    elif TIME_KEY.search(key) and type(ours) is type(theirs) and isinstance(ours, (int, float)):
        yield found("time")
    else:
        yield found("value")


ALLOWED = ("id", "time", "ordering", "not_covered")


def compare_call(name: str, ours: list[Any], theirs: list[Any]) -> Iterator[Difference]:
    """Every difference between the answers that one call got."""
    ours, theirs = settled(ours), settled(theirs)
    a, b = [endpoint(r) for r in ours], [endpoint(r) for r in theirs]
    if a != b:
        yield {"path": name, "ours": a, "theirs": b, "reason": "other requests"}
        return
    for n, (mine, other) in enumerate(zip(ours, theirs)):
        where = f"{name} [{n}] {endpoint(mine)}"
        if "events" in mine and "events" in other:
            mine, other = {**mine, "events": by_type(mine["events"])}, {**other, "events": by_type(other["events"])}
        for k in ("status", "content_type", "body", "events"):
            for d in differences(f"{where} {k}", mine.get(k), other.get(k)):
                if d["reason"] not in ALLOWED and endpoint(mine) in NOT_COVERED:
                    d["reason"] = "not_covered"
                yield d


def main() -> int:
    if len(sys.argv) != 4:
        print(__doc__)
        return 2
    ours, theirs = (json.loads(pathlib.Path(p).read_text()) for p in sys.argv[1:3])
    found = [d for name in theirs.keys() | ours.keys() for d in compare_call(name, ours.get(name, []), theirs.get(name, []))]
    found.sort(key=lambda d: (d["reason"] in ALLOWED, d["path"]))
    pathlib.Path(sys.argv[3]).write_text(json.dumps(found, indent=1) + "\n")
    wrong = [d for d in found if d["reason"] not in ALLOWED]
    counts = {r: sum(d["reason"] == r for d in found) for r in ALLOWED}
    print(json.dumps({"differences": len(found), "not_allowed": len(wrong), **counts}))
    for d in wrong:
        print(json.dumps(d)[:400])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
