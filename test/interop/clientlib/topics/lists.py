"""Lists and their pages."""

from __future__ import annotations

import omnigent_client as lib
from context import NOBODY, Context, call, refused


@call("sessions.list")
async def list_sessions(c: Context) -> None:
    rows = await c.sessions.list()
    ids = [r.id for r in rows]
    assert c.keep["shell"] in ids and c.keep["spare"] not in ids, ids


@call("sessions.list in pages")
async def list_pages(c: Context) -> None:
    seen, after = [], None
    while page := await c.sessions.list(limit=2, after=after, order="asc"):
        seen += [r.id for r in page]
        after = page[-1].id
    assert len(seen) == len(set(seen)) and c.keep["shell"] in seen, seen


@call("sessions.list, archived")
async def list_archived(c: Context) -> None:
    assert c.keep["spare"] in [r.id for r in await c.sessions.list(visibility="archived")]
    assert c.keep["spare"] in [r.id for r in await c.sessions.list(include_archived=True)]


@call("sessions.list by agent")
async def list_by_agent(c: Context) -> None:
    assert {r.agent_id for r in await c.sessions.list(agent_id=c.keep["agent"])} == {c.keep["agent"]}
    assert c.keep["session"] in [r.id for r in await c.sessions.list(agent_name="shelly", sort_by="updated_at")]


@call("sessions.list, mine, shared, of any kind")
async def list_views(c: Context) -> None:
    assert await c.sessions.list(visibility="mine", kind="any")
    await c.sessions.list(visibility="shared", kind="default", before=c.keep["shell"])
    assert not await c.sessions.list(kind="sub_agent")


@call("sessions.list after a session that is gone")
async def list_stale(c: Context) -> None:
    await refused(400, c.sessions.list(after=NOBODY), lib.StaleCursorError)


@call("sessions.list with a wrong limit")
async def list_wrong(c: Context) -> None:
    await refused(422, c.sessions.list(limit=0))


@call("search of the titles")
async def search(c: Context) -> None:
    found = await c.raw("GET", "/v1/sessions?visibility=all&search_query=" + c.tag)
    assert [r["id"] for r in found["data"]] == [c.keep["bare"]], found


@call("sessions.set_archived, undone")
async def set_unarchived(c: Context) -> None:
    assert not (await c.sessions.set_archived(c.keep["spare"], archived=False)).archived
