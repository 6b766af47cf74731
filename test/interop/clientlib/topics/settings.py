"""Settings of a session."""

from __future__ import annotations

from context import Context, call, refused


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
