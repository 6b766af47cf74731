"""A fork of a session."""

from __future__ import annotations

from context import NOBODY, Context, call, refused


@call("sessions.fork")
async def fork(c: Context) -> None:
    made = await c.sessions.fork(c.keep["session"], title="a copy")
    assert made["title"] == "a copy" and made["runner_id"] is None, made
    c.keep["fork"] = made["id"]


@call("sessions.fork without a title")
async def fork_untitled(c: Context) -> None:
    made = await c.sessions.fork(c.keep["session"])
    items = await c.sessions.list_items(made["id"])
    source = await c.sessions.list_items(c.keep["session"])
    assert len(items.data) <= len(source.data), items


@call("sessions.fork up to a response")
async def fork_part(c: Context) -> None:
    made = await c.sessions.fork(c.keep["session"], up_to_response_id=c.keep["response"])
    items = await c.sessions.list_items(made["id"])
    assert items.data[-1]["response_id"] == c.keep["response"], items


@call("sessions.fork up to an unknown response")
async def fork_wrong(c: Context) -> None:
    await refused(400, c.sessions.fork(c.keep["session"], up_to_response_id="resp_nothing"))


@call("sessions.fork of an unknown session")
async def fork_unknown(c: Context) -> None:
    await refused(404, c.sessions.fork(NOBODY))
