"""A turn."""

from __future__ import annotations

from typing import Any

import omnigent_client as lib
from context import NOBODY, Context, call, refused, user


@call("sessions.stream and sessions.post_event")
async def stream(c: Context) -> None:
    """The stream is opened before the message and read to the end of the turn."""
    session, seen = c.keep["session"], []
    events = c.sessions.stream(session)
    try:
        async for event in events:
            if not seen:
                ack = await c.sessions.post_event(session, user("echo one two"))
                assert ack["queued"] and ack["item_id"], ack
            seen.append(event.type)
            if event.type == "session.status" and event.status == "idle" and "response.completed" in seen:
                break
    finally:
        await events.aclose()
    for want in ("session.heartbeat", "session.input.consumed", "response.in_progress", "response.output_item.done"):
        assert want in seen, f"no {want} in {seen}"


@call("sessions.get after a turn")
async def get_after(c: Context) -> None:
    now = await c.until_idle(c.keep["session"])
    assert now.status == "idle" and len(now.items) >= 2, now


@call("sessions.list_items")
async def list_items(c: Context) -> None:
    page = await c.sessions.list_items(c.keep["session"])
    assert page.data[0]["role"] == "user" and page.data[-1]["role"] == "assistant", page
    c.keep["response"] = page.data[-1]["response_id"]


@call("sessions.list_items, newest first, one by one")
async def list_items_pages(c: Context) -> None:
    ids, after = [], None
    while True:
        page = await c.sessions.list_items(c.keep["session"], limit=1, order="desc", after=after)
        ids += [i["id"] for i in page.data]
        if not page.has_more:
            break
        after = page.last_id
    assert len(ids) == len(set(ids)) >= 2, ids


@call("sessions.list_items after an item that is gone")
async def list_items_stale(c: Context) -> None:
    await refused(400, c.sessions.list_items(c.keep["session"], after=NOBODY), lib.StaleCursorError)


@call("sessions.list_items of an unknown session")
async def list_items_unknown(c: Context) -> None:
    await refused(404, c.sessions.list_items(NOBODY))


@call("sessions.post_event of an unknown type")
async def post_unknown(c: Context) -> None:
    await refused(400, c.sessions.post_event(c.keep["session"], {"type": "no_such_event", "data": {}}))


@call("sessions.post_event to an unknown session")
async def post_nowhere(c: Context) -> None:
    await refused(404, c.sessions.post_event(NOBODY, user("x")))


@call("sessions.stream of an unknown session")
async def stream_unknown(c: Context) -> None:
    async def first() -> Any:
        return await anext(c.sessions.stream(NOBODY))

    await refused(404, first())


@call("sessions.post_event: an item of each type")
async def post_items(c: Context) -> None:
    """As a program beside the turn posts them; each once, also when posted twice."""
    session, items = c.keep["bare"], {
        "message": {"role": "assistant", "agent": "a", "content": [{"type": "output_text", "text": "x"}]},
        "function_call": {"agent": "a", "name": "f", "arguments": "{}", "call_id": "c1"},
        "function_call_output": {"call_id": "c1", "output": "o"},
        "reasoning": {"agent": "a", "summary": []},
        "error": {"source": "tool", "code": "c", "message": "m"},
        "resource_event": {"event_type": "session.resource.created", "resource_id": "r", "resource_type": "terminal"},
        "compaction": {"summary": "s", "last_item_id": "i", "token_count": 3},
        "routing_decision": {"model": "m", "applied": True, "rationale": "r", "scope": "turn"},
        "slash_command": {"agent": "a", "kind": "skill", "name": "n", "arguments": ""},
        "terminal_command": {"kind": "input", "input": "ls"},
        "native_tool": {"agent": "a", "item": {"type": "web_search_call"}},
    }
    for kind, data in items.items():
        event = {"type": "external_conversation_item", "data": {"item_type": kind, "item_data": data, "source_id": "s:" + kind}}
        first = await c.sessions.post_event(session, event)
        assert await c.sessions.post_event(session, event) == first, kind
    page = await c.sessions.list_items(session)
    assert [i["type"] for i in page.data] == list(items), page
    await c.sessions.get(session)


@call("sessions.interrupt")
async def interrupt(c: Context) -> None:
    session = c.keep["shell"]
    await c.sessions.post_event(session, user("sleep 50"))
    await c.until_running(session)
    await c.sessions.interrupt(session)
    await c.until_idle(session)


@call("sessions.interrupt of an idle session")
async def interrupt_idle(c: Context) -> None:
    await c.sessions.interrupt(c.keep["bare"])


@call("sessions.post_event: a stop")
async def stop(c: Context) -> None:
    session = c.keep["shell"]
    await c.sessions.post_event(session, user("sleep 51"))
    await c.until_running(session)
    await c.sessions.post_event(session, {"type": "stop_session", "data": {}})
    await c.until_idle(session)


@call("sessions.compact")
async def compact(c: Context) -> None:
    await refused(400, c.sessions.compact(c.keep["session"]))


@call("a turn that fails")
async def failing_turn(c: Context) -> None:
    session = c.keep["shell"]
    assert (await c.turn(session, user("echo out; exit 3"))).status == "failed"
    await c.sessions.list_items(session, order="desc", limit=3)
