"""Files."""

from __future__ import annotations

import asyncio

from context import NOBODY, Context, call, refused


@call("files.for_session().upload")
async def upload(c: Context) -> None:
    files = c.client.files.for_session(c.keep["session"])
    assert files.session_id == c.keep["session"]
    note = await files.upload(c.file("note.txt", b"hello note\n"))
    assert note.filename == "note.txt" and note.bytes == 11, note
    c.keep["file"] = note.id
    await asyncio.sleep(1.1)  # lists go by the second
    png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\x06\0\0\0\x1f\x15\xc4\x89"
    c.keep["image"] = (await files.upload(c.file("dot.png", png))).id


@call("files.for_session().upload of an unsupported type")
async def upload_unsupported(c: Context) -> None:
    path = c.file("blob.bin", bytes(range(256)) * 4)
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
