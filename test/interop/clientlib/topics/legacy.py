"""What is left of /v1/responses: the library has it, no server answers it.."""

from __future__ import annotations

from typing import Any

import omnigent_client as lib
from context import Context, call, refused


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
