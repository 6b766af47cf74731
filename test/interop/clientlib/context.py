"""What the calls share, and the list that they are put in."""

from __future__ import annotations

import asyncio
import io
import pathlib
import secrets
import tarfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import omnigent_client as lib

TIMEOUT = 60.0  # seconds for one call
NOBODY = "0" * 32  # a well-formed id that names nothing


@dataclass
class Context:
    """What the calls share."""

    base: str
    folder: pathlib.Path
    client: lib.OmnigentClient
    bundle: bytes
    tag: str = field(default_factory=lambda: secrets.token_hex(16))  # names this run
    keep: dict[str, Any] = field(default_factory=dict)

    @property
    def sessions(self) -> lib.SessionsNamespace:
        return self.client.sessions

    def file(self, name: str, content: bytes) -> str:
        """The path of a file to send."""
        path = self.folder / name
        path.write_bytes(content)
        return str(path)

    async def raw(self, method: str, path: str, expect: int = 200, **kw: Any) -> Any:
        """A call that the library has no method for, made with its own client."""
        answer = await self.client._http.request(method, self.base + path, **kw)
        assert answer.status_code == expect, f"{method} {path}: {answer.status_code} {answer.text[:300]}"
        return answer.json() if answer.content else None

    async def turn(self, session: str, event: dict[str, Any]) -> Any:
        """Send a message and wait for the end of its turn."""
        ack = await self.sessions.post_event(session, event)
        while True:
            now = await self.sessions.get(session)
            if now.status in ("idle", "failed") and now.items[-1]["id"] != ack["item_id"]:
                return now
            await asyncio.sleep(0.1)

    async def until_running(self, session: str) -> None:
        """Wait for the begin of a session's turn."""
        while (await self.sessions.get(session)).status != "running":
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.3)  # what goes with the status is stored a moment later
        await self.sessions.get(session)

    async def until_idle(self, session: str) -> Any:
        """Wait for the end of a session's turn."""
        while True:
            now = await self.sessions.get(session)
            if now.status in ("idle", "failed"):
                return now
            await asyncio.sleep(0.1)


CALLS: list[tuple[str, Callable[[Context], Awaitable[None]]]] = []


def call(name: str) -> Any:
    """Adds a function to the list of calls under the name of what it calls."""

    def add(fn: Callable[[Context], Awaitable[None]]) -> Any:
        CALLS.append((name, fn))
        return fn

    return add


def bundle_of(name: str, files: dict[str, str] | None = None) -> bytes:
    """A gzip tar of an agent that runs its messages with bash."""
    config = (
        f"spec_version: 1\nname: {name}\nprompt: Each message is run as a command.\n"
        'executor:\n  type: omnigent\n  config:\n    harness: "acp:shell"\n'
    )
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for path, text in {"config.yaml": config, **(files or {})}.items():
            info = tarfile.TarInfo(path)
            info.size, info.mode = len(text.encode()), 0o644
            tar.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def user(text: str) -> dict[str, Any]:
    """A message event."""
    return {"type": "message", "data": {"role": "user", "content": [{"type": "input_text", "text": text}]}}


async def refused(status: int | None, doing: Awaitable[Any], kind: type[Exception] = lib.OmnigentError) -> Exception:
    """Expect that a call is refused with that status."""
    try:
        got = await doing
    except kind as err:
        found = getattr(err, "status_code", None)
        assert status is None or found == status, f"refused with {found}, not {status}: {err}"
        return err
    raise AssertionError(f"not refused: {got!r}")
