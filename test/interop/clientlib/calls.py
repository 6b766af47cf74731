"""Makes each public call of omnigent_client against a server.

    python calls.py BASE_URL ANSWERS.json

Prints one JSON line per call and ends with 1 when any of them failed. The raw
answers of each call go to ANSWERS.json, for compare.py. The server must offer
the agent in shell/ beside this file (the published server gets it with --agent
shell/, ours as STATE/server/agents/shell/), and a runner with its harness,
acp:shell, must be online. Both servers must be fresh if their answers are to be
compared: lists show whatever is there.

One function of topics/ is one call. They run topic by topic, in the order in
which they stand there, on what earlier ones left in the Context.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import pathlib
import sys
import tempfile
import time
import warnings
from typing import Any

import omnigent_client as lib
from context import CALLS, TIMEOUT, Context, bundle_of
from record import Recorder

TOPICS = (
    "agents",
    "create",
    "settings",
    "lists",
    "turn",
    "questions",
    "children",
    "files",
    "fork",
    "chat",
    "legacy",
    "delete",
)


async def main() -> int:
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("base", help="base URL of the server")
    args.add_argument("answers", type=pathlib.Path, help="file for the raw answers")
    given = args.parse_args()
    for topic in TOPICS:
        importlib.import_module("topics." + topic)
    warnings.simplefilter("ignore", DeprecationWarning)
    recorder, failed, answers = Recorder(), 0, {}
    with tempfile.TemporaryDirectory(prefix="clientlib-") as folder:
        base = given.base.rstrip("/")
        c = Context(base, pathlib.Path(folder), lib.OmnigentClient(base_url=base), bundle_of("shelly"))
        recorder.attach(c.client._http)
        for name, fn in CALLS:
            line: dict[str, Any] = {"call": name, "ok": True}
            began = time.monotonic()
            try:
                async with asyncio.timeout(TIMEOUT):
                    await fn(c)
            except Exception as err:  # one failed call must not hide the others
                failed += 1
                line.update(ok=False, error=f"{type(err).__name__}: {err}"[:600])
            line["ms"] = round((time.monotonic() - began) * 1000)
            answers[name] = recorder.take()
            print(json.dumps(line), flush=True)
    given.answers.write_text(json.dumps(answers, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
