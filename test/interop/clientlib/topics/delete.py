"""What is last: deleting, and closing the client."""

from __future__ import annotations

from context import Context, call, refused


@call("DELETE of a session and its children")
async def delete_session(c: Context) -> None:
    path = "/v1/sessions/" + c.keep["shell"]
    gone = await c.raw("DELETE", path)
    assert gone["deleted"], gone
    await c.raw("DELETE", path, expect=404)
    await refused(404, c.sessions.get(c.keep["child"]))


@call("client.close")
async def close(c: Context) -> None:
    await c.client.close()
