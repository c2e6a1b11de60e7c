"""R8: each plugin has an origin record; what changed since it was approved is not used.

The cases are in core/tests/plugins/test_plugins_approval.py; here the whole program shows one.
"""

import json

from ferrule_testkit.model_items import message


def test_r08_what_changed_since_you_approved_it_says_so_and_is_not_imported(
    twin, hooks_package, model_server, tmp_path
):
    path = tmp_path / "imported"
    line = f"open({str(path)!r}, 'a').close()\n"
    twin.put(hooks_package("note", line))
    approved = twin.run("plugins", "trust", "note", "--yes")
    assert approved.returncode == 0, approved.stderr
    path.unlink()

    (twin.site / "acme_note" / "__init__.py").write_text(f"{line}# edited\n")

    model_server.play([[message("done")]])
    finished = twin.run("exec", "--json", "go")
    assert finished.returncode == 0, finished.stderr
    told = [item["message"] for item in finished.items("error")]
    assert any("changed since you approved it on 2" in text for text in told)
    listed = json.loads(twin.run("plugins", "list", "--json").stdout)["plugins"]
    row = next(row for row in listed if row["name"] == "note")
    assert (row["state"], row["review"]) == ("untrusted", "no longer as approved")
    assert not path.exists()
