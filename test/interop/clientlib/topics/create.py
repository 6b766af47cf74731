"""Creating sessions, by an agent and by a bundle."""

from __future__ import annotations

import asyncio

from context import NOBODY, Context, bundle_of, call, refused


@call("sessions.create")
async def create(c: Context) -> None:
    made = await c.sessions.create(
        c.bundle, title="by bundle", labels={"color": "blue"}, reasoning_effort="high", workspace=str(c.folder)
    )
    assert made.title == "by bundle" and made.labels["color"] == "blue" and made.reasoning_effort == "high", made
    c.keep["session"], c.keep["uploaded"] = made.id, made.agent_id


@call("sessions.create with the same files again")
async def create_again(c: Context) -> None:
    await asyncio.sleep(1.1)  # another time stamp in the archive must not matter
    again = await c.sessions.create(bundle_of("shelly"), filename="other.tgz")
    assert again.agent_id == c.keep["uploaded"], "the same files gave another agent"
    c.keep["spare"] = again.id


@call("sessions.create with other files")
async def create_other(c: Context) -> None:
    await asyncio.sleep(1.1)  # lists go by the second
    other = await c.sessions.create(bundle_of("shelly", {"AGENTS.md": "be brief\n"}))
    assert other.agent_id != c.keep["uploaded"], "other files gave the same agent"


@call("sessions.create of a broken bundle")
async def create_broken(c: Context) -> None:
    await refused(400, c.sessions.create(b"no archive"))


@call("sessions.create_from_agent_id")
async def create_from_agent_id(c: Context) -> None:
    await asyncio.sleep(1.1)  # lists go by the second
    made = await c.sessions.create_from_agent_id(
        c.keep["agent"], title="by agent", labels={"n": "1"}, reasoning_effort="low", workspace=str(c.folder)
    )
    assert made.agent_name == "shell" and made.harness == "acp" and made.status == "idle", made
    c.keep["shell"] = made.id


@call("sessions.create_from_agent_id, bare")
async def create_bare(c: Context) -> None:
    await asyncio.sleep(1.1)  # lists go by the second
    c.keep["bare"] = (await c.sessions.create_from_agent_id(c.keep["agent"])).id


@call("sessions.create_from_agent_id of an unknown agent")
async def create_unknown(c: Context) -> None:
    await refused(404, c.sessions.create_from_agent_id(NOBODY))


@call("sessions.get")
async def get(c: Context) -> None:
    assert (await c.sessions.get(c.keep["session"])).agent_name == "shelly"


@call("sessions.get of an unknown session")
async def get_unknown(c: Context) -> None:
    await refused(404, c.sessions.get(NOBODY))


@call("sessions.get of no id at all")
async def get_malformed(c: Context) -> None:
    await refused(404, c.sessions.get("not-an-id"))
