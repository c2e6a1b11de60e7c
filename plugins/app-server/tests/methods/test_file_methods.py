"""`fs/*`: files as the client's own."""

from __future__ import annotations

from base64 import b64decode, b64encode

import pytest


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "files"
    place.mkdir()
    return place


def test_a_file_is_written_and_read_as_it_is(client, folder):
    data = bytes(range(256))
    path = str(folder / "all.bin")
    client.call("fs/writeFile", path=path, dataBase64=b64encode(data).decode())
    assert b64decode(client.call("fs/readFile", path=path)["dataBase64"]) == data


def test_folders_are_made_listed_and_described(client, folder):
    client.call("fs/createDirectory", path=str(folder / "a" / "b"))
    (folder / "a" / "file.txt").write_text("text")
    (folder / "a" / "link").symlink_to("file.txt")
    assert client.call("fs/readDirectory", path=str(folder / "a"))["entries"] == [
        {"fileName": "b", "isDirectory": True, "isFile": False},
        {"fileName": "file.txt", "isDirectory": False, "isFile": True},
        {"fileName": "link", "isDirectory": False, "isFile": True},
    ]
    told = client.call("fs/getMetadata", path=str(folder / "a" / "link"))
    modified = int((folder / "a" / "file.txt").stat().st_mtime * 1000)
    assert (told["isFile"], told["isSymlink"], told["modifiedAtMs"]) == (True, True, modified)


def test_a_folder_without_those_above_it(client, folder, refused):
    with refused("No such file") as refusal:
        client.call("fs/createDirectory", path=str(folder / "x" / "y"), recursive=False)
    assert refusal.value.code == -32603


def test_removing(client, folder, refused):
    (folder / "a" / "b").mkdir(parents=True)
    with refused("not empty"):
        client.call("fs/remove", path=str(folder / "a"), recursive=False)
    client.call("fs/remove", path=str(folder / "a"))
    assert not (folder / "a").exists()
    client.call("fs/remove", path=str(folder / "a"))
    with refused("No such file"):
        client.call("fs/remove", path=str(folder / "a"), force=False)


def test_removing_a_link_leaves_what_it_leads_to(client, folder):
    (folder / "a").mkdir()
    (folder / "a" / "kept").touch()
    (folder / "link").symlink_to("a")
    client.call("fs/remove", path=str(folder / "link"))
    assert (folder / "a" / "kept").exists()


def test_copying(client, folder, refused):
    (folder / "a").mkdir()
    (folder / "a" / "file").write_text("text")
    paths = {"sourcePath": str(folder / "a"), "destinationPath": str(folder / "b")}
    with refused("requires recursive: true"):
        client.call("fs/copy", **paths)
    client.call("fs/copy", **paths, recursive=True)
    assert (folder / "b" / "file").read_text() == "text"
    into_itself = {**paths, "destinationPath": str(folder / "a" / "c")}
    with refused("cannot copy a directory to itself"):
        client.call("fs/copy", **into_itself, recursive=True)


@pytest.mark.parametrize("method", ["readFile", "readDirectory", "getMetadata", "remove"])
def test_a_relative_path_is_refused(client, refused, method):
    with refused("not absolute"):
        client.call(f"fs/{method}", path="old.txt")


def test_what_cannot_be_read_says_why(client, folder, refused):
    with refused("No such file or directory") as refusal:
        client.call("fs/readFile", path=str(folder / "none"))
    assert refusal.value.code == -32603
    with refused("Is a directory"):
        client.call("fs/readFile", path=str(folder))
    with refused("valid base64"):
        client.call("fs/writeFile", path=str(folder / "x"), dataBase64="%%%")


def test_a_watched_folder_tells_what_came_changed_and_went(client, folder):
    path = client.call("fs/watch", path=str(folder), watchId="w")["path"]
    (folder / "new").write_text("1")
    assert client.told("fs/changed", watchId="w")["changedPaths"] == [f"{path}/new"]
    (folder / "new").write_text("changed")
    assert client.told("fs/changed", watchId="w")["changedPaths"] == [f"{path}/new"]
    (folder / "new").unlink()
    assert client.told("fs/changed", watchId="w")["changedPaths"] == [f"{path}/new"]


def test_a_file_may_be_watched_before_it_is_there_and_be_replaced(client, folder):
    file = folder / "HEAD"
    path = client.call("fs/watch", path=str(file), watchId="w")["path"]
    file.write_text("1")
    assert client.told("fs/changed", watchId="w")["changedPaths"] == [path]
    (folder / "other").write_text("2")
    (folder / "other").replace(file)
    assert client.told("fs/changed", watchId="w")["changedPaths"] == [path]


def test_a_watch_ends(client, folder, refused):
    client.call("fs/watch", path=str(folder), watchId="w")
    with refused("watchId already exists"):
        client.call("fs/watch", path=str(folder), watchId="w")
    client.call("fs/unwatch", watchId="w")
    client.call("fs/watch", path=str(folder), watchId="other")
    (folder / "new").touch()
    client.told("fs/changed", watchId="other")
    assert client.notifications == []
