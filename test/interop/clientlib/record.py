"""Keeps the raw answers that a client library got, call by call.

The recorder hooks into the library's own HTTP client: it sees each answer as it
came, before the library makes an object of it. A stream's events are kept as
the server sent them, not as the library understood them.
"""

from __future__ import annotations

import json
from typing import Any

import httpx


class Recorder:
    """Collects the answers of the call that is running."""

    def __init__(self) -> None:
        self.exchanges: list[dict[str, Any]] = []

    def attach(self, http: httpx.AsyncClient) -> None:
        """Watch every answer of this client."""
        http.event_hooks["response"].append(self._answer)

    def take(self) -> list[dict[str, Any]]:
        """Hand over what was collected since the last time."""
        taken, self.exchanges = self.exchanges, []
        return taken

    async def _answer(self, response: httpx.Response) -> None:
        request = response.request
        row: dict[str, Any] = {
            "method": request.method,
            "path": request.url.path,
            "query": sorted(request.url.params.multi_items()),
            "status": response.status_code,
            "content_type": response.headers.get("content-type", "").split(";")[0],
        }
        self.exchanges.append(row)
        if row["content_type"] == "text/event-stream":
            row["events"] = []
            response.aiter_lines = _tee(response.aiter_lines, row["events"])  # type: ignore[method-assign]
            return
        await response.aread()
        row["body"] = _json_or_text(response)


def _json_or_text(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return response.text


def _tee(lines: Any, events: list[Any]) -> Any:
    """Keep each event of a stream while it passes to its reader."""

    async def copy() -> Any:
        async for line in lines():
            if line.startswith("data: ") and line != "data: [DONE]":
                events.append(json.loads(line[6:]))
            yield line

    return copy
