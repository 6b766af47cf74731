"""Compares the answers that calls.py got from two servers, key by key.

    python compare.py OURS.json THEIRS.json DIFFERENCES.json

Every difference goes to DIFFERENCES.json with its path, both values and a
reason. The reasons that are allowed are: id, time, ordering, and not_covered
(what NOT_COVERED names, as docs/omnigent.md does). Ends with 1 when a
difference has no such reason.

The words in which an error is told are each server's own and for people: they
are listed apart, under error_texts, and not judged. An error's status, code and
keys are compared like everything else.
"""

from __future__ import annotations

import json
import pathlib
import re
import sys
from collections.abc import Iterator
from typing import Any

# Parts of answers that may differ, by endpoint: a pattern of their path.
NOT_COVERED: dict[str, str] = {
    "GET /v1/agents": r" body\.(data\[name=[^]]*\]|first_id|last_id)$",  # each server offers agents of its own
}

# Where an answer tells people what is wrong.
ERROR_TEXT = re.compile(r" body\.(error\.message|detail|detail\[\d+\]\.msg)$")

# A type of event that comes as often as the producer flushes or the clock ticks.
TIMED = {"session.heartbeat", "response.output_text.delta", "session.child_session.updated", "session.presence"}

ID = re.compile(
    r"\b(?:[a-z]+_)*[0-9a-f]{32}\b"
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
        return {k: "<time>" if TIME_KEY.search(k) and seconds(v) else plain(v) for k, v in value.items()}
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
    elif is_agents(ours) and is_agents(theirs):
        mine, others = ({row["name"]: row for row in rows} for rows in (ours, theirs))
        for name in sorted(mine.keys() | others.keys()):
            yield from differences(f"{path}[name={name}]", mine.get(name), others.get(name), key)
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
    elif TIME_KEY.search(key) and type(ours) is type(theirs) and seconds(ours):
        yield found("time")
    else:
        yield found("value")


def is_agents(rows: Any) -> bool:
    """Whether a value is a list of agents: they are compared by name."""
    return isinstance(rows, list) and bool(rows) and all(isinstance(r, dict) and r.get("object") == "agent" for r in rows)


def seconds(value: Any) -> bool:
    """Whether a value is a time: a number, or a text of digits."""
    return isinstance(value, (int, float)) or isinstance(value, str) and value.isdigit()


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
                named = NOT_COVERED.get(endpoint(mine))
                if d["reason"] not in ALLOWED and named and re.search(named, d["path"]):
                    d["reason"] = "not_covered"
                elif d["reason"] == "value" and ERROR_TEXT.search(d["path"]) and texts(d):
                    d["reason"] = "error_text"
                yield d


def texts(d: Difference) -> bool:
    """Whether both sides say something."""
    return all(isinstance(d[side], str) and d[side] for side in ("ours", "theirs"))


def main() -> int:
    if len(sys.argv) != 4:
        print(__doc__)
        return 2
    ours, theirs = (json.loads(pathlib.Path(p).read_text()) for p in sys.argv[1:3])
    found = [d for name in theirs.keys() | ours.keys() for d in compare_call(name, ours.get(name, []), theirs.get(name, []))]
    words = sorted((d for d in found if d["reason"] == "error_text"), key=lambda d: d["path"])
    found = sorted((d for d in found if d["reason"] != "error_text"), key=lambda d: (d["reason"] in ALLOWED, d["path"]))
    pathlib.Path(sys.argv[3]).write_text(json.dumps({"differences": found, "error_texts": words}, indent=1) + "\n")
    wrong = [d for d in found if d["reason"] not in ALLOWED]
    counts = {r: sum(d["reason"] == r for d in found) for r in ALLOWED}
    print(json.dumps({"differences": len(found), "not_allowed": len(wrong), **counts}))
    for d in wrong:
        print(json.dumps(d)[:400])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
