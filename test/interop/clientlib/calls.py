"""Makes each public call of omnigent_client against a server.

    python calls.py BASE_URL ANSWERS.json

Prints one JSON line per call and ends with 1 when any of them failed. The raw
answers of each call go to ANSWERS.json, for compare.py. The server must offer
the agent in shell/ beside this file (the published server gets it with --agent
shell/, ours as STATE/server/agents/shell/), and a runner with its harness,
acp:shell, must be online. Both servers must be fresh if their answers are to be
compared: lists show whatever is there.

One function is one call. They run in the order in which they stand here, on
what earlier ones left in the Context.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import pathlib
import secrets
import sys
import tarfile
import tempfile
import time
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import omnigent_client as lib
from record import Recorder

TIMEOUT = 60.0  # seconds for one call
NOBODY = "0" * 32  # a well-formed id that names nothing


@dataclass
class Context:
    """What the calls share."""

    base: str
    folder: pathlib.Path
    client: lib.OmnigentClient
    bundle: bytes
    tag: str = field(default_factory=lambda: secrets.token_hex(16))  # names this run
    keep: dict[str, Any] = field(default_factory=dict)

    @property
    def sessions(self) -> lib.SessionsNamespace:
        return self.client.sessions

    async def raw(self, method: str, path: str, expect: int = 200, **kw: Any) -> Any:
        """A call that the library has no method for, made with its own client."""
        answer = await self.client._http.request(method, self.base + path, **kw)
        assert answer.status_code == expect, f"{method} {path}: {answer.status_code} {answer.text[:300]}"
        return answer.json() if answer.content else None

    async def turn(self, session: str, event: dict[str, Any]) -> Any:
        """Send a message and wait for the end of its turn."""
        ack = await self.sessions.post_event(session, event)
        while True:
            now = await self.sessions.get(session)
            if now.status in ("idle", "failed") and now.items[-1]["id"] != ack["item_id"]:
                return now
            await asyncio.sleep(0.1)

    async def until_running(self, session: str) -> None:
        """Wait for the begin of a session's turn."""
        while (await self.sessions.get(session)).status != "running":
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.3)  # what goes with the status is stored a moment later
        await self.sessions.get(session)

    async def until_idle(self, session: str) -> Any:
        """Wait for the end of a session's turn."""
        while True:
            now = await self.sessions.get(session)
            if now.status in ("idle", "failed"):
                return now
            await asyncio.sleep(0.1)


CALLS: list[tuple[str, Callable[[Context], Awaitable[None]]]] = []


def call(name: str) -> Any:
    """Adds a function to the list of calls under the name of what it calls."""

    def add(fn: Callable[[Context], Awaitable[None]]) -> Any:
        CALLS.append((name, fn))
        return fn

    return add


def bundle_of(name: str, files: dict[str, str] | None = None) -> bytes:
    """A gzip tar of an agent that runs its messages with bash."""
    config = (
        f"spec_version: 1\nname: {name}\nprompt: Each message is run as a command.\n"
        'executor:\n  type: omnigent\n  config:\n    harness: "acp:shell"\n'
    )
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for path, text in {"config.yaml": config, **(files or {})}.items():
            info = tarfile.TarInfo(path)
            info.size, info.mode = len(text.encode()), 0o644
            tar.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def user(text: str) -> dict[str, Any]:
    """A message event."""
    return {"type": "message", "data": {"role": "user", "content": [{"type": "input_text", "text": text}]}}


async def refused(status: int | None, doing: Awaitable[Any], kind: type[Exception] = lib.OmnigentError) -> Exception:
    """Expect that a call is refused with that status."""
    try:
        got = await doing
    except kind as err:
        found = getattr(err, "status_code", None)
        assert status is None or found == status, f"refused with {found}, not {status}: {err}"
        return err
    raise AssertionError(f"not refused: {got!r}")


# Agents and runners


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


# Create


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


# Settings


@call("sessions.bind_runner")
async def bind_runner(c: Context) -> None:
    bound = await c.sessions.bind_runner(c.keep["session"], runner_id=c.keep["runner"])
    assert bound.runner_id == c.keep["runner"], bound
    for name in ("shell", "bare"):
        await c.sessions.bind_runner(c.keep[name], runner_id=c.keep["runner"])


@call("sessions.bind_runner to an unknown runner")
async def bind_runner_unknown(c: Context) -> None:
    await refused(400, c.sessions.bind_runner(c.keep["spare"], runner_id="runner_nobody"))


@call("sessions.unbind_runner")
async def unbind_runner(c: Context) -> None:
    await c.sessions.bind_runner(c.keep["spare"], runner_id=c.keep["runner"])
    assert (await c.sessions.unbind_runner(c.keep["spare"])).runner_id is None


@call("sessions.set_reasoning_effort")
async def set_reasoning_effort(c: Context) -> None:
    assert (await c.sessions.set_reasoning_effort(c.keep["spare"], reasoning_effort="medium")).reasoning_effort == "medium"


@call("sessions.set_reasoning_effort to nothing")
async def clear_reasoning_effort(c: Context) -> None:
    assert (await c.sessions.set_reasoning_effort(c.keep["spare"], reasoning_effort=None)).reasoning_effort is None


@call("sessions.set_reasoning_effort to nonsense")
async def wrong_reasoning_effort(c: Context) -> None:
    await refused(400, c.sessions.set_reasoning_effort(c.keep["spare"], reasoning_effort="enormous"))


@call("sessions.set_model_override")
async def set_model_override(c: Context) -> None:
    assert (await c.sessions.set_model_override(c.keep["spare"], model_override="m-2")).model_override == "m-2"


@call("sessions.set_model_override, silent, to nothing")
async def clear_model_override(c: Context) -> None:
    cleared = await c.sessions.set_model_override(c.keep["spare"], model_override=None, silent=True)
    assert cleared.model_override is None, cleared


@call("sessions.set_external_session_id")
async def set_external_session_id(c: Context) -> None:
    done = await c.sessions.set_external_session_id(c.keep["spare"], external_session_id="ext-1")
    assert done.external_session_id == "ext-1", done
    await c.sessions.set_external_session_id(c.keep["spare"], external_session_id="ext-1")


@call("sessions.set_external_session_id to another value")
async def change_external_session_id(c: Context) -> None:
    await refused(400, c.sessions.set_external_session_id(c.keep["spare"], external_session_id="ext-2"))


@call("sessions.set_archived")
async def set_archived(c: Context) -> None:
    assert (await c.sessions.set_archived(c.keep["spare"], archived=True)).archived


@call("labels: PATCH and GET")
async def labels(c: Context) -> None:
    path = "/v1/sessions/" + c.keep["bare"]
    await c.raw("PATCH", path, json={"labels": {"a": "1", "b": "2"}})
    await c.raw("PATCH", path, json={"labels": {"b": "3"}, "title": "renamed " + c.tag})
    assert (await c.raw("GET", path + "/labels"))["labels"].items() >= {"a": "1", "b": "3"}.items()


@call("PATCH of an unknown key")
async def patch_unknown(c: Context) -> None:
    await c.raw("PATCH", "/v1/sessions/" + c.keep["bare"], expect=422, json={"colour": 1})


# Lists


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


# A turn


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


# Questions


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


# Children


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


# Files


def sample(c: Context, name: str, content: bytes) -> str:
    path = c.folder / name
    path.write_bytes(content)
    return str(path)


@call("files.for_session().upload")
async def upload(c: Context) -> None:
    files = c.client.files.for_session(c.keep["session"])
    assert files.session_id == c.keep["session"]
    note = await files.upload(sample(c, "note.txt", b"hello note\n"))
    assert note.filename == "note.txt" and note.bytes == 11, note
    c.keep["file"] = note.id
    await asyncio.sleep(1.1)  # lists go by the second
    png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\x06\0\0\0\x1f\x15\xc4\x89"
    c.keep["image"] = (await files.upload(sample(c, "dot.png", png))).id


@call("files.for_session().upload of an unsupported type")
async def upload_unsupported(c: Context) -> None:
    path = sample(c, "blob.bin", bytes(range(256)) * 4)
    await refused(415, c.client.files.for_session(c.keep["session"]).upload(path))


@call("files.for_session().list")
async def list_files(c: Context) -> None:
    files = c.client.files.for_session(c.keep["session"])
    assert {f.id for f in await files.list()} == {c.keep["file"], c.keep["image"]}
    first = await files.list(limit=1, order="asc")
    assert [f.id for f in await files.list(limit=1, order="asc", after=first[0].id)] != [first[0].id]


@call("files.for_session().get")
async def get_file(c: Context) -> None:
    got = await c.client.files.for_session(c.keep["session"]).get(c.keep["file"])
    assert got.id == c.keep["file"] and got.bytes == 11, got


@call("files.for_session().get_content")
async def get_content(c: Context) -> None:
    assert await c.client.files.for_session(c.keep["session"]).get_content(c.keep["file"]) == b"hello note\n"


@call("files.for_session().download")
async def download(c: Context) -> None:
    path = await c.client.files.for_session(c.keep["session"]).download(c.keep["file"], c.folder / "out" / "note.txt")
    assert path.read_bytes() == b"hello note\n"


@call("files.for_session().get from another session")
async def get_file_elsewhere(c: Context) -> None:
    await refused(404, c.client.files.for_session(c.keep["bare"]).get(c.keep["file"]))


@call("files.for_session().list after a file that is gone")
async def list_files_stale(c: Context) -> None:
    assert await c.client.files.for_session(c.keep["session"]).list(after=NOBODY) == []


@call("a message with a file")
async def message_with_file(c: Context) -> None:
    session = c.keep["session"]
    content = [
        {"type": "input_text", "text": "echo got it"},
        {"type": "input_file", "file_id": c.keep["file"], "filename": "note.txt"},
    ]
    await c.turn(session, {"type": "message", "data": {"role": "user", "content": content}})
    page = await c.sessions.list_items(session)
    sent = [i for i in page.data if i["type"] == "message" and i["role"] == "user"][-1]
    assert sent["content"][1]["file_id"] == c.keep["file"], sent


@call("a message with a file that is not there")
async def message_with_no_file(c: Context) -> None:
    """It is taken all the same."""
    session = c.keep["bare"]
    content = [
        {"type": "input_text", "text": "echo anyway"},
        {"type": "input_file", "file_id": NOBODY, "filename": "gone.txt"},
    ]
    await c.turn(session, {"type": "message", "data": {"role": "user", "content": content}})
    await c.sessions.list_items(session)


@call("files.for_session().delete")
async def delete_file(c: Context) -> None:
    files = c.client.files.for_session(c.keep["session"])
    await files.delete(c.keep["image"])
    await refused(404, files.get(c.keep["image"]))
    await refused(404, files.get_content(c.keep["image"]))
    await refused(404, files.delete(c.keep["image"]))


@call("files.upload and the other calls without a session")
async def files_without_session(c: Context) -> None:
    """The library itself refuses them: files belong to sessions."""
    f = c.client.files
    for doing in (f.upload("x"), f.list(), f.get("x"), f.get_content("x"), f.download("x", "y"), f.delete("x")):
        await refused(None, doing, RuntimeError)


# Fork


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


# The chat helper


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
    result = await chat.query("echo with a file", files=[sample(c, "chat.txt", b"in a chat\n")])
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


# What is left of /v1/responses: the library has it, no server answers it.


@call("responses.*")
async def responses(c: Context) -> None:
    r = c.client.responses
    await refused(404, r.create(model="shell", input="hi"))
    await refused(404, r.get("resp_1"))
    await refused(404, r.poll("resp_1"))
    await refused(404, r.cancel("resp_1"))
    await refused(404, r.delete("resp_1"))
    await refused(404, r.steer("resp_1", "more", model="shell"))

    async def first() -> Any:
        return await anext(r.stream(model="shell", input="hi"))

    await refused(404, first())


@call("client.query and client.session")
async def legacy_session(c: Context) -> None:
    await refused(404, c.client.query(model="shell", input="hi"))
    session = c.client.session(model="shell")
    assert session.model == "shell" and session.current_response_id is None and not session.is_streaming
    session.set_reasoning_effort("high")
    session.set_model_override("m-1")
    assert session.reasoning_effort == "high" and session.model_override == "m-1"
    await refused(404, session.query("hi"))

    async def first() -> Any:
        return await anext(session.send("hi"))

    await refused(404, first())
    assert await session.cancel() is None
    session.reset()
    session.resume_from_response("resp_1")


@call("BlockStream.stream")
async def block_stream(c: Context) -> None:
    """Blocks are made of what a session sends: of the legacy one, a refusal."""
    blocks = lib.pipe(lib.BlockStream().stream(c.client.session(model="shell"), "hi"), lib.skip_intermediate_ends())

    async def first() -> Any:
        return await anext(blocks)

    await refused(404, first())


# Delete


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


async def main() -> int:
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("base", help="base URL of the server")
    args.add_argument("answers", type=pathlib.Path, help="file for the raw answers")
    given = args.parse_args()
    warnings.simplefilter("ignore", DeprecationWarning)
    recorder, failed, answers = Recorder(), 0, {}
    with tempfile.TemporaryDirectory(prefix="clientlib-") as folder:
        base = given.base.rstrip("/")
        c = Context(base, pathlib.Path(folder), lib.OmnigentClient(base_url=base), bundle_of("shelly"))
        recorder.attach(c.client._http)
        for name, fn in CALLS:
            line: dict[str, Any] = {"call": name, "ok": True}
            began = time.monotonic()
            try:
                async with asyncio.timeout(TIMEOUT):
                    await fn(c)
            except Exception as err:  # one failed call must not hide the others
                failed += 1
                line.update(ok=False, error=f"{type(err).__name__}: {err}"[:600])
            line["ms"] = round((time.monotonic() - began) * 1000)
            answers[name] = recorder.take()
            print(json.dumps(line), flush=True)
    given.answers.write_text(json.dumps(answers, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
