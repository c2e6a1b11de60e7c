"""Lists that clients show: models, providers, skills, hooks, profiles, switches."""

from __future__ import annotations

import json

import pytest

OLD_EFFORTS = {"none", "minimal", "low", "medium", "high", "xhigh"}


def write_skill(folder, name: str, head: str) -> str:
    file = folder / name / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text(head)
    return str(file)


def test_the_configured_model_is_the_default_and_comes_first(client):
    models = client.call("model/list")["data"]
    assert [model["id"] for model in models if model["isDefault"]] == ["gpt-5.5"]
    assert models[0]["isDefault"]


@pytest.mark.parametrize("provider", ["openai", "anthropic", "deepseek"])
def test_efforts_are_those_that_every_client_knows(client, provider):
    models = client.call("model/list", modelProvider=provider)["data"]
    assert models
    for model in models:
        told = [option["reasoningEffort"] for option in model["supportedReasoningEfforts"]]
        assert {*told, model["defaultReasoningEffort"]} <= OLD_EFFORTS
        assert not told or model["defaultReasoningEffort"] in told


def test_models_come_in_pages(client, refused):
    everything = client.call("model/list", modelProvider="openai")
    assert everything["nextCursor"] is None
    seen, cursor = [], None
    while cursor is not None or not seen:
        page = client.call("model/list", modelProvider="openai", limit=3, cursor=cursor)
        assert len(page["data"]) <= 3
        seen += page["data"]
        cursor = page["nextCursor"]
    assert seen == everything["data"]
    with refused("invalid cursor: zz"):
        client.call("model/list", cursor="zz")
    with refused("Model provider `nope` not found"):
        client.call("model/list", modelProvider="nope")


def test_what_a_user_knows_better_about_a_model_counts(client, ferrule_home):
    entry = {"slug": "gpt-5.5", "display_name": "Mine", "supported_reasoning_levels": ["low"]}
    (ferrule_home.path / "models.json").write_text(json.dumps({"models": [entry]}))
    model = client.call("model/list")["data"][0]
    assert (model["displayName"], model["defaultReasoningEffort"]) == ("Mine", "low")


def test_providers_are_listed_with_how_they_get_their_key(client):
    reply = client.call("modelProvider/list")
    assert reply["defaultProviderId"] == "scripted"
    providers = {each["id"]: each for each in reply["data"]}
    auth = {"mode": "environmentVariable", "envKey": "SCRIPTED_KEY"}
    assert providers["scripted"]["settings"] == {"type": "customGateway", "auth": auth}
    assert (providers["scripted"]["canEdit"], providers["openai"]["canEdit"]) == (True, False)
    assert client.call("modelProvider/capabilities/read") == {
        "imageGeneration": False,
        "webSearch": True,
    }


def test_a_provider_of_ones_own_is_added_and_changed(client, refused):
    settings = {"type": "customGateway", "name": "My Gate", "baseUrl": "http://127.0.0.1:1/v1"}
    provider = client.call("modelProvider/config/write", settings=settings)["provider"]
    assert (provider["id"], provider["name"], provider["canEdit"]) == ("my-gate", "My Gate", True)
    change = {"type": "customGateway", "providerId": "my-gate", "envKey": "GATE_KEY"}
    provider = client.call("modelProvider/config/write", settings=change)["provider"]
    assert provider["baseUrl"] == "http://127.0.0.1:1/v1"
    assert provider["settings"]["auth"]["envKey"] == "GATE_KEY"
    with refused("built in"):
        openai = {**change, "providerId": "openai"}
        client.call("modelProvider/config/write", settings=openai)
    with refused("requires `providerId` or `name`"):
        client.call("modelProvider/config/write", settings={"type": "customGateway"})


def trusting(ferrule_home) -> str:
    return f'[projects."{ferrule_home.workspace}"]\ntrust_level = "trusted"'


def test_skills_of_the_folder_and_of_the_user(client, ferrule_home):
    ferrule_home.configure(tables=trusting(ferrule_home))
    head = '---\nname: demo\ndescription: "does it"\nmetadata:\n  name: other\n---\n# Text\n'
    own = write_skill(ferrule_home.workspace / ".agents" / "skills", "demo", head)
    folded = "---\ndescription: >\n  two\n  lines\n---\n"
    users = write_skill(ferrule_home.path / "skills", "by-folder", folded)
    broken = write_skill(ferrule_home.path / "skills", "broken", "no head\n")
    [entry] = client.call("skills/list", cwds=[str(ferrule_home.workspace)])["data"]
    facts = [
        (skill["name"], skill["description"], skill["path"], skill["scope"])
        for skill in entry["skills"]
    ]
    assert facts == [("demo", "does it", own, "repo"), ("by-folder", "two lines", users, "user")]
    [error] = entry["errors"]
    assert (error["path"], error["message"].startswith(f"{broken}:1: ")) == (broken, True)


def test_skills_of_a_project_that_is_not_trusted_are_not_listed(client, ferrule_home):
    head = "---\nname: demo\ndescription: d\n---\n"
    write_skill(ferrule_home.workspace / ".agents" / "skills", "demo", head)
    [entry] = client.call("skills/list")["data"]
    assert entry["skills"] == []
    assert "is not trusted" in entry["errors"][0]["message"]


def test_a_skill_is_switched_off_and_on(client, ferrule_home, refused):
    path = write_skill(ferrule_home.path / "skills", "demo", "---\ndescription: d\n---\n")

    def is_enabled() -> bool:
        return client.call("skills/list")["data"][0]["skills"][0]["enabled"]

    for choice in ({"name": "demo"}, {"path": path}):
        off = client.call("skills/config/write", **choice, enabled=False)
        assert (off["effectiveEnabled"], is_enabled()) == (False, False)
        on = client.call("skills/config/write", **choice, enabled=True)
        assert (on["effectiveEnabled"], is_enabled()) == (True, True)
    with refused("exactly one of"):
        client.call("skills/config/write", enabled=True)


def test_more_folders_of_skills_while_the_server_runs(client, tmp_path):
    write_skill(tmp_path / "more", "extra", "---\ndescription: d\n---\n")
    client.call("skills/extraRoots/set", extraRoots=[str(tmp_path / "more")])
    client.told("skills/changed")
    [entry] = client.call("skills/list")["data"]
    assert [skill["name"] for skill in entry["skills"]] == ["extra"]


def test_a_hook_is_trusted_by_the_hash_that_was_told(client, ferrule_home):
    hook = {"type": "command", "command": "true", "timeout": 5}
    file = ferrule_home.path / "hooks.json"
    file.write_text(json.dumps({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}}))

    def listed() -> dict:
        [entry] = client.call("hooks/list", cwds=[str(ferrule_home.workspace)])["data"]
        [told] = entry["hooks"]
        return told

    told = listed()
    assert (told["eventName"], told["command"], told["timeoutSec"]) == ("preToolUse", "true", 5)
    assert (told["source"], told["sourcePath"]) == ("user", str(file))
    assert told["trustStatus"] == "untrusted"
    trust = {told["key"]: {"trusted_hash": told["currentHash"]}}
    edit = {"keyPath": "hooks.state", "value": trust, "mergeStrategy": "upsert"}
    client.call("config/batchWrite", edits=[edit], reloadUserConfig=True)
    assert listed()["trustStatus"] == "trusted"
    file.write_text(file.read_text().replace('"true"', '"false"'))
    assert listed()["trustStatus"] == "modified"


def test_profiles_modes_and_switches(connect):
    client = connect("--enable", "fancy")
    profiles = client.call("permissionProfile/list")["data"]
    assert [profile["id"] for profile in profiles] == [
        ":read-only",
        ":workspace",
        ":danger-full-access",
    ]
    assert all(profile["allowed"] for profile in profiles)
    assert [mode["mode"] for mode in client.call("collaborationMode/list")["data"]] == ["default"]
    [feature] = client.call("experimentalFeature/list")["data"]
    assert (feature["name"], feature["enabled"]) == ("fancy", True)
    assert client.call("experimentalFeature/enablement/set", enablement={"x": True}) == {
        "enablement": {}
    }
    assert client.call("server/diagnostics")["process"]["id"] == client.process.pid


def test_there_are_no_skills_where_no_plugin_finds_any(serve, ferrule_home):
    ferrule_home.configure(tables='[plugins]\ndisabled = ["skills"]')

    async def talk(hub):
        client = await hub.client()
        reply = await client.call("skills/list", {"cwds": ["/one"]})
        assert reply == {"data": [{"cwd": "/one", "skills": [], "errors": []}]}

    serve(talk)
