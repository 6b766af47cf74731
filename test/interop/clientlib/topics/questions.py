"""Questions."""

from __future__ import annotations

from context import NOBODY, Context, call, refused


@call("a question: asked, shown, resolved")
async def elicitation(c: Context) -> None:
    session = c.keep["bare"]
    asked = await c.sessions.post_event(
        session,
        {"type": "mcp_elicitation", "data": {"message": "Go on?", "requestedSchema": {"type": "object", "properties": {}}}},
    )
    c.keep["question"] = asked["elicitation_id"]
    path = f"/v1/sessions/{session}"
    pending = (await c.raw("GET", path))["pending_elicitations"]
    assert [e["elicitation_id"] for e in pending] == [asked["elicitation_id"]], pending
    assert (await c.raw("GET", f"{path}/elicitations/{asked['elicitation_id']}"))["status"] == "pending"
    row = next(r for r in await c.sessions.list() if r.id == session)
    assert row.pending_elicitations_count == 1, row


@call("sessions.resolve_elicitation")
async def resolve_elicitation(c: Context) -> None:
    session = c.keep["bare"]
    ack = await c.sessions.resolve_elicitation(session, c.keep["question"], {"action": "accept", "content": {"a": 1}})
    assert ack == {"queued": False}, ack
    state = await c.raw("GET", f"/v1/sessions/{session}/elicitations/{c.keep['question']}")
    assert state == {"status": "resolved"}, state
    assert (await c.raw("GET", f"/v1/sessions/{session}"))["pending_elicitations"] == []


@call("sessions.resolve_elicitation, again")
async def resolve_again(c: Context) -> None:
    assert await c.sessions.resolve_elicitation(c.keep["bare"], c.keep["question"], {"action": "decline"}) == {"queued": False}


@call("sessions.resolve_elicitation with a wrong action")
async def resolve_wrong(c: Context) -> None:
    await refused(422, c.sessions.resolve_elicitation(c.keep["bare"], c.keep["question"], {"action": "perhaps"}))


@call("sessions.resolve_elicitation of an unknown session")
async def resolve_unknown(c: Context) -> None:
    await refused(404, c.sessions.resolve_elicitation(NOBODY, "elicit_1", {"action": "accept"}))


@call("a question answered by an approval event, seen on the stream")
async def approval(c: Context) -> None:
    session, seen = c.keep["bare"], []
    events = c.sessions.stream(session)
    question = ""
    try:
        async for event in events:
            if not seen:
                asked = await c.sessions.post_event(session, {"type": "mcp_elicitation", "data": {"message": "Sure?"}})
                question = asked["elicitation_id"]
            seen.append(event.type)
            if event.type == "response.elicitation_request":
                assert event.elicitation_id == question
                data = {"elicitation_id": question, "action": "decline"}
                assert await c.sessions.post_event(session, {"type": "approval", "data": data}) == {"queued": False}
            if event.type == "response.elicitation_resolved":
                break
    finally:
        await events.aclose()
