"""Real package managers under their recipes, against registries on loopback.

Each installs a package of the mirror and runs what it installed; a test whose tool is not there is
skipped and says so. Gradle and docker are on none of the machines these tests run on.
"""

import json
import os
import sys
from pathlib import Path

import pytest

from ferrule_testkit.package_mirror import package_mirror

PNPM = os.environ.get("FERRULE_TEST_PNPM", "/nowhere")
RUSTUP = os.environ.get("RUSTUP_HOME") or str(Path.home() / ".rustup")
PYTHON = os.path.realpath(sys.executable)
"""The interpreter outside of any virtual environment."""
GO = os.environ.get("FERRULE_TEST_GO", "/nowhere")


def succeeded(run):
    assert run.returncode == 0, f"{run.stdout}\n{run.stderr}"
    return run.stdout


def test_npm_installs_and_what_it_installed_runs(place, mirror, tool):
    tool("npm")
    env = {"npm_config_registry": f"{mirror.url}/npm"}
    (place.project / "package.json").write_text('{"name": "project", "version": "1.0.0"}')

    succeeded(place.sandbox("npm", "install", "lantern", recipes=["npm"], env=env))
    said = place.sandbox("node", "-e", "console.log(require('lantern').light)", recipes=["npm"])

    assert succeeded(said) == "true\n"
    assert place.caches("npm")
    assert not (place.home / ".npm").exists()


def test_npm_installs_again_from_its_cache(place, mirror, tool):
    tool("npm")
    env = {"npm_config_registry": f"{mirror.url}/npm"}
    (place.project / "package.json").write_text('{"name": "project", "version": "1.0.0"}')
    install = ("npm", "install", "lantern", "--offline")

    assert place.sandbox(*install, recipes=["npm"], env=env, network=False).returncode != 0
    succeeded(place.sandbox("npm", "cache", "add", "lantern", recipes=["npm"], env=env))
    succeeded(place.sandbox(*install, recipes=["npm"], env=env, network=False))


def test_npm_fails_without_its_recipe(place, mirror, tool):
    tool("npm")
    env = {"npm_config_registry": f"{mirror.url}/npm"}
    (place.project / "package.json").write_text('{"name": "project", "version": "1.0.0"}')

    run = place.sandbox("npm", "install", "lantern", env=env)

    assert run.returncode != 0
    assert not (place.home / ".npm").exists()


@pytest.mark.skipif(not Path(PNPM).exists(), reason="pnpm is not installed")
def test_pnpm_installs_and_what_it_installed_runs(place, mirror, tool):
    node = tool("node")
    env = {"npm_config_registry": f"{mirror.url}/npm"}
    (place.project / "package.json").write_text('{"name": "project", "version": "1.0.0"}')

    succeeded(place.sandbox(node, PNPM, "add", "lantern", recipes=["pnpm"], env=env))
    said = place.sandbox(node, "-e", "console.log(require('lantern').light)", recipes=["pnpm"])

    assert succeeded(said) == "true\n"
    assert place.caches("pnpm")
    assert not list((place.home).glob(".local/**/*"))


def test_pip_installs_and_what_it_installed_runs(place, mirror):
    env = {"PIP_INDEX_URL": f"{mirror.url}/simple", "PIP_TRUSTED_HOST": "127.0.0.1"}
    python = (str(place.project / "venv" / "bin" / "python"), "-m")

    succeeded(place.sandbox(sys.executable, "-m", "venv", "venv", recipes=["pip"]))
    succeeded(place.sandbox(*python, "pip", "install", "lantern", recipes=["pip"], env=env))
    said = place.sandbox(python[0], "-c", "import lantern; print(lantern.LIGHT)", recipes=["pip"])

    assert succeeded(said) == "True\n"
    assert place.caches("pip")
    assert not (place.home / ".cache" / "pip").exists()


def test_uv_installs_and_what_it_installed_runs(place, mirror, tool):
    uv = tool("uv")
    env = {"UV_DEFAULT_INDEX": f"{mirror.url}/simple"}

    succeeded(place.sandbox(uv, "venv", "--python", sys.executable, recipes=["uv"], env=env))
    succeeded(place.sandbox(uv, "pip", "install", "lantern", recipes=["uv"], env=env))
    python = str(place.project / ".venv" / "bin" / "python")
    said = place.sandbox(python, "-c", "import lantern; print(lantern.LIGHT)", recipes=["uv"])

    assert succeeded(said) == "True\n"
    assert place.caches("uv")
    assert not (place.home / ".cache" / "uv").exists()


def test_cargo_builds_with_a_dependency(place, mirror, tool):
    tool("cargo")
    for folder in (".cargo", "src"):
        (place.project / folder).mkdir()
    (place.project / ".cargo" / "config.toml").write_text(
        '[source.crates-io]\nreplace-with = "mirror"\n'
        f'[source.mirror]\nregistry = "sparse+{mirror.url}/cargo/"\n'
    )
    (place.project / "Cargo.toml").write_text(
        '[package]\nname = "project"\nversion = "0.1.0"\nedition = "2021"\n'
        '[dependencies]\nlantern = "1"\n'
    )
    (place.project / "src" / "main.rs").write_text(
        'fn main() { println!("{}", lantern::LIGHT); }\n'
    )
    run = place.sandbox("cargo", "run", "--quiet", recipes=["cargo"], env={"RUSTUP_HOME": RUSTUP})

    assert succeeded(run) == "true\n"
    assert place.caches("cargo")
    assert not (place.home / ".cargo").exists()


@pytest.mark.skipif(not Path(GO).exists(), reason="go is not installed")
def test_go_builds_with_a_dependency(place, mirror):
    (place.project / "go.mod").write_text(
        "module example.com/project\n\ngo 1.19\n\nrequire example.com/lantern v1.0.0\n"
    )
    (place.project / "main.go").write_text(
        'package main\n\nimport "example.com/lantern"\n\nfunc main() { println(lantern.Light) }\n'
    )
    env = {"GOPROXY": f"{mirror.url}/go", "GONOSUMDB": "*", "GOTOOLCHAIN": "local"}

    run = place.sandbox(GO, "run", "-mod=mod", ".", recipes=["go"], env=env)

    assert run.returncode == 0, run.stderr
    assert run.stderr.endswith("true\n")
    assert place.caches("go")
    assert not (place.home / "go").exists()


def test_maven_reads_a_parent_from_its_registry(place, mirror, tool):
    tool("mvn")
    (place.project / "pom.xml").write_text(
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<parent><groupId>com.example</groupId><artifactId>lantern</artifactId>"
        "<version>1.0.0</version><relativePath/></parent>"
        "<artifactId>project</artifactId><packaging>pom</packaging>"
        "<repositories><repository><id>mirror</id>"
        f"<url>{mirror.url}/maven</url></repository></repositories></project>"
    )

    run = place.sandbox("mvn", "-B", "-q", "validate", recipes=["maven"])

    succeeded(run)
    assert any(path.suffix == ".pom" for path in place.caches("maven"))
    assert not (place.home / ".m2" / "repository").exists()


@pytest.mark.parametrize("tool_name", ["npm", "pip", "uv", "cargo"])
def test_through_the_managed_network_a_registry_is_reached_and_nothing_else(
    place, mirror, tool, tool_name
):
    if tool_name != "pip":
        tool(tool_name)
    elif place.sandbox(PYTHON, "-m", "pip", "--version").returncode:
        pytest.skip("pip is not installed beside the interpreter")
    rules = [f"allow network protocol:http host:127.0.0.1 port:{mirror.port}"]
    with package_mirror() as other:
        places = {True: mirror, False: other}
        done = {
            is_allowed: fetch(place, each, tool_name, network=rules)
            for is_allowed, each in places.items()
        }
        assert other.asked == []

    succeeded(done[True])
    assert mirror.asked
    assert done[False].returncode != 0


def fetch(place, mirror, tool_name, **options):
    """Fetch the package with a tool, into a new folder and through a new cache."""
    env = {
        "npm_config_registry": f"{mirror.url}/npm",
        "npm_config_fetch_retries": "0",
        "PIP_INDEX_URL": f"{mirror.url}/simple",
        "PIP_RETRIES": "0",
        "UV_DEFAULT_INDEX": f"{mirror.url}/simple",
        "UV_HTTP_RETRIES": "0",
        "CARGO_NET_RETRY": "0",
        "RUSTUP_HOME": RUSTUP,
    }
    into = f"from-{mirror.port}"
    words = {
        "npm": ("npm", "install", "--prefix", into, "lantern"),
        "pip": (PYTHON, "-m", "pip", "install", "--target", into, "lantern"),
        "uv": ("uv", "pip", "install", "--python", sys.executable, "--target", into, "lantern"),
        "cargo": (
            *("cargo", "fetch", "--manifest-path", f"{into}/Cargo.toml"),
            *("--config", 'source.crates-io.replace-with="mirror"'),
            *("--config", f'source.mirror.registry="sparse+{mirror.url}/cargo/"'),
        ),
    }
    manifest = place.project / into / "Cargo.toml"
    (manifest.parent / "src").mkdir(parents=True)
    (manifest.parent / "src" / "lib.rs").touch()
    manifest.write_text(
        '[package]\nname = "project"\nversion = "0.1.0"\n[dependencies]\nlantern = "1"\n'
    )
    return place.sandbox(*words[tool_name], recipes=[tool_name], env=env, **options)


def test_git_works_beside_recipes(place):
    (place.project / "file").write_text("1")
    identity = ("-c", "user.name=n", "-c", "user.email=e@example.com")
    steps = (
        ("add", "file"),
        (*identity, "commit", "-q", "-m", "first"),
        ("switch", "-q", "-c", "topic"),
        ("worktree", "add", "-q", "beside"),
    )

    for step in steps:
        succeeded(place.sandbox("git", *step, recipes=["npm", "pip", "cargo"]))

    assert place.git("log", "--format=%s").strip() == "first"
    assert place.git("branch", "--show-current").strip() == "topic"
    assert (place.project / "beside" / "file").exists()


def test_a_package_plants_nothing_that_runs_later(place, tool):
    """What a package runs at its installation reaches neither hooks nor another project's cache."""
    tool("npm")
    other = place.home / ".cache" / "ferrule" / "recipes" / "npm" / "other-000000000000"
    other.mkdir(parents=True)
    hooks = place.project / ".git" / "hooks"
    before = sorted(hooks.iterdir())
    targets = {
        "hook": hooks / "pre-commit",
        "config": place.project / ".git" / "config",
        "npmrc": place.home / ".npmrc",
        "cache": other / "planted",
        "settings": place.home / ".ferrule" / "config.toml",
    }
    script = "; ".join(f"echo x >> {path} && echo {name}" for name, path in targets.items())
    (place.project / "package.json").write_text('{"name": "project", "version": "1.0.0"}')
    config = (place.project / ".git" / "config").read_text()

    with package_mirror({"postinstall": f"({script}; true) > $INIT_CWD/written"}) as mirror:
        env = {"npm_config_registry": f"{mirror.url}/npm"}
        succeeded(place.sandbox("npm", "install", "lantern", recipes=["npm"], env=env))

    assert (place.project / "written").read_text() == ""
    assert sorted(hooks.iterdir()) == before
    assert (place.project / ".git" / "config").read_text() == config
    assert list(other.iterdir()) == []


def test_the_listing_says_where_caches_lie(place):
    facts = json.loads(place.ferrule("sandbox", "recipes", "--json", "npm").stdout)

    assert facts["plugin"] == "recipes"
    assert facts["writable"] == [facts["environment"]["npm_config_cache"]]
    assert facts["writable"][0].startswith(f"{place.home}/.cache/ferrule/recipes/npm/project-")
