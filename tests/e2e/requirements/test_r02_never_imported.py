"""R2: a disabled, blocked or untrusted plugin is never imported."""

from ferrule_testkit.model_items import message


def test_r02_a_disabled_blocked_or_untrusted_plugin_is_never_imported(
    twin, hooks_package, ferrule_home, model_server, tmp_path
):
    names = ("disabled", "blocked", "unlisted", "unapproved")
    for name in (*names, "fine"):
        mark = f"open({str(tmp_path / name)!r}, 'a').close()\n"
        twin.put(hooks_package(name, mark))
    assert twin.run("plugins", "trust", "fine", "--yes").returncode == 0
    for name in (*names, "fine"):
        (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / "cache").rename(tmp_path / "old-cache")  # nothing was ever probed
    listed = [f"acme-{name}" for name in (*names, "fine") if name != "unlisted"]
    ferrule_home.configure(
        tables=f"[plugins]\nallow = {listed}\ndisabled = ['disabled']\nblock = ['acme-blocked']\n"
        "require_trust = true\n"
    )
    model_server.play([[message("done")]])

    finished = twin.run("exec", "--json", "go")

    assert finished.returncode == 0, finished.stderr
    assert [name for name in (*names, "fine") if (tmp_path / name).exists()] == ["fine"]
    told = "\n".join(item["message"] for item in finished.items("error"))
    assert "acme-unlisted is not listed in plugins.allow" in told
    assert "nobody approved acme-unapproved; look: ferrule plugins show acme-unapproved" in told
    assert "'disabled'" not in told
