"""The chat helper."""

from __future__ import annotations

import asyncio

import omnigent_client as lib
from context import TIMEOUT, Context, call, user


@call("client.sessions_chat")
async def sessions_chat(c: Context) -> None:
    chat = await c.client.sessions_chat(c.bundle, filename="chat.tar.gz")
    assert chat.session_id and chat.agent_id == c.keep["uploaded"] and chat.status == "idle"
    await c.sessions.bind_runner(chat.session_id, runner_id=c.keep["runner"])
    c.keep["chat"] = chat


@call("SessionsChat.create")
async def chat_create(c: Context) -> None:
    chat = await lib.SessionsChat.create(c.sessions, c.bundle, files_namespace=c.client.files)
    await c.sessions.bind_runner(chat.session_id, runner_id=c.keep["runner"])
    result = await chat.query("echo with a file", files=[c.file("chat.txt", b"in a chat\n")])
    assert "with a file" in result.text, result


@call("SessionsChat.send")
async def chat_send(c: Context) -> None:
    types = [event.type async for event in c.keep["chat"].send("echo sent")]
    assert types[-1] == "response.completed", types


@call("SessionsChat.refresh")
async def chat_refresh(c: Context) -> None:
    await c.until_idle(c.keep["chat"].session_id)
    assert (await c.keep["chat"].refresh()).id == c.keep["chat"].session_id


@call("SessionsChat.query")
async def chat_query(c: Context) -> None:
    result = await c.keep["chat"].query("echo asked")
    assert "asked" in result.text and result.files == [], result


@call("SessionsChat.query, streamed")
async def chat_query_stream(c: Context) -> None:
    answer = await c.keep["chat"].query("echo a b", stream=True)
    text = "".join([chunk async for chunk in answer])
    assert "a" in text and "b" in text and answer.files == [], text


@call("SessionsChat.await_turn")
async def chat_await_turn(c: Context) -> None:
    """Another client starts the turn that this one waits for."""
    chat = c.keep["chat"]
    await c.until_idle(chat.session_id)
    waiting = asyncio.create_task(chat.await_turn(timeout=TIMEOUT / 2))
    await asyncio.sleep(0.5)
    await chat.post_event(user("sleep 0.5; echo waited"))
    assert "waited" in (await waiting).text


@call("SessionsChat.stream and SessionsChat.post_event")
async def chat_stream(c: Context) -> None:
    chat, seen = c.keep["chat"], []
    await c.until_idle(chat.session_id)
    events = chat.stream()
    async for event in events:
        if not seen:
            await chat.post_event(user("echo streamed"))
        seen.append(event.type)
        if event.type == "response.completed":
            break
    await events.aclose()


@call("SessionsChat.tree_busy")
async def chat_tree_busy(c: Context) -> None:
    await c.until_idle(c.keep["chat"].session_id)
    assert not await c.keep["chat"].tree_busy()


@call("SessionsChat.cancel")
async def chat_cancel(c: Context) -> None:
    chat = c.keep["chat"]
    await chat.post_event(user("sleep 52"))
    while (await chat.refresh()).status != "running":
        await asyncio.sleep(0.05)
    await chat.cancel()
    await c.until_idle(chat.session_id)


@call("SessionsChat with hooks")
async def chat_hooks(c: Context) -> None:
    heard: list[str] = []
    hooks = lib.StreamHooks(
        on_response_start=lambda *a: heard.append("start"), on_response_end=lambda *a: heard.append("end")
    )
    chat = await c.client.sessions_chat(c.bundle, hooks=hooks)
    await c.sessions.bind_runner(chat.session_id, runner_id=c.keep["runner"])
    await chat.query("echo hooked")
    assert "start" in heard and "end" in heard, heard


@call("the session's agent")
async def session_agent(c: Context) -> None:
    agent = await c.raw("GET", f"/v1/sessions/{c.keep['session']}/agent")
    assert agent["name"] == "shelly", agent
