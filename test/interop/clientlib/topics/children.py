"""Child sessions."""

from __future__ import annotations

import asyncio

import omnigent_client as lib
from context import Context, call, user


@call("a child session")
async def child(c: Context) -> None:
    made = await c.raw(
        "POST", "/v1/sessions", 201,
        json={"agent_id": c.keep["agent"], "parent_session_id": c.keep["shell"], "title": "worker:one", "labels": {"w": "1"}},
    )
    c.keep["child"] = made["id"]
    assert made["kind"] == "sub_agent" and made["parent_session_id"] == c.keep["shell"], made


@call("sessions.child_sessions")
async def child_sessions(c: Context) -> None:
    page = await c.sessions.child_sessions(c.keep["shell"])
    assert [r["id"] for r in page.data] == [c.keep["child"]] and page.data[0]["tool"] == "worker", page


@call("sessions.child_sessions in pages")
async def child_sessions_pages(c: Context) -> None:
    page = await c.sessions.child_sessions(c.keep["shell"], limit=1, after=c.keep["child"])
    assert page.data == [] and not page.has_more, page


@call("sessions.child_sessions_tree")
async def child_sessions_tree(c: Context) -> None:
    nodes = await c.sessions.child_sessions_tree(c.keep["shell"], max_depth=2)
    assert [n["parent_id"] for n in nodes] == [c.keep["shell"]], nodes


@call("sessions.subtree_busy")
async def subtree_busy(c: Context) -> None:
    session = c.keep["child"]
    assert not await c.sessions.subtree_busy(c.keep["shell"])
    await c.sessions.post_event(session, user("sleep 2; echo done"))
    await c.until_running(session)
    while not await c.sessions.subtree_busy(c.keep["shell"]):
        await asyncio.sleep(0.05)
    await c.until_idle(session)
    while await c.sessions.subtree_busy(c.keep["shell"]):
        await asyncio.sleep(0.05)


@call("sessions.child_sessions after its turn")
async def child_after(c: Context) -> None:
    page = await c.sessions.child_sessions(c.keep["shell"])
    row = page.data[0]
    assert not lib.child_summary_busy(row) and row["last_message_preview"], row
    busy = lib.child_session_busy(busy=row["busy"], current_task_status=row["current_task_status"])
    assert not busy, row


@call("a child's question is shown in its parent")
async def child_question(c: Context) -> None:
    child, parent = c.keep["child"], c.keep["shell"]
    asked = await c.sessions.post_event(child, {"type": "mcp_elicitation", "data": {"message": "May I?"}})
    shown = (await c.raw("GET", f"/v1/sessions/{parent}"))["pending_elicitations"]
    assert shown[0]["params"]["target_session_id"] == child, shown
    assert (await c.sessions.child_sessions(parent)).data[0]["pending_elicitations_count"] == 1
    await c.sessions.resolve_elicitation(parent, asked["elicitation_id"], {"action": "cancel"})
    await c.sessions.resolve_elicitation(child, asked["elicitation_id"], {"action": "cancel"})
    assert (await c.raw("GET", f"/v1/sessions/{parent}"))["pending_elicitations"] == []
