"""Agents and runners."""

from __future__ import annotations

from context import Context, call, refused


@call("sessions.resolve_agent")
async def resolve_agent(c: Context) -> None:
    agent = await c.sessions.resolve_agent("shell")
    assert agent.harness == "acp:shell", agent
    c.keep["agent"] = agent.id


@call("sessions.resolve_agent of an unknown name")
async def resolve_agent_unknown(c: Context) -> None:
    await refused(None, c.sessions.resolve_agent("no-such-agent"), LookupError)


@call("sessions.resolve_online_runner")
async def resolve_online_runner(c: Context) -> None:
    c.keep["runner"] = await c.sessions.resolve_online_runner(harness="acp:shell")
    assert c.keep["runner"], "no runner with the harness acp:shell is online"


@call("sessions.resolve_online_runner with a canonical name")
async def resolve_online_runner_canonical(c: Context) -> None:
    found = await c.sessions.resolve_online_runner(harness="acp:shell", canonicalize=str.lower)
    assert found == c.keep["runner"], found


@call("sessions.resolve_online_runner of any harness")
async def resolve_online_runner_any(c: Context) -> None:
    assert await c.sessions.resolve_online_runner() == c.keep["runner"]
