"""What a package says about itself before any of it is imported."""

import pytest

from ferrule.words import in_words
from ferrule_hookspecs.errors import PluginError
from ferrule_hookspecs.manifest import Capabilities, Manifest, parse_manifest


def test_a_manifest_names_what_a_package_asks_for():
    manifest = parse_manifest(
        'guards = true\nisolation = "process"\n[capabilities]\n'
        'read = ["~/.config/acme"]\nhosts = ["tickets.acme.example"]\nenvironment = ["TOKEN"]\n',
        "ferrule.toml",
    )

    asked = Capabilities(("~/.config/acme",), (), ("tickets.acme.example",), ("TOKEN",))
    assert manifest == Manifest(guards=True, isolation="process", capabilities=asked)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("guards = ", "place is not valid TOML"),
        ("guards = 1", "place: guards must be true or false"),
        ('isolation = "vm"', 'place: isolation must be "none" or "process", not \'vm\''),
        ("colour = 1", "place: 'colour' is not known there; there are: guards"),
        ("capabilities = 1", "place: capabilities must be a table"),
        ("[capabilities]\nports = [1]", "place: [capabilities]: 'ports' is not known there"),
        ('[capabilities]\nhosts = "a"', "place: capabilities.hosts must be a list of texts"),
        ("[capabilities]\nhosts = [1]", "place: capabilities.hosts must be a list of texts"),
        ('[capabilities]\nhosts = ["a\\u001b[2K"]', "place: capabilities.hosts must be a list"),
        ('[capabilities]\nread = ["x"]', "a path begins with / or with ~/"),
    ],
)
def test_a_manifest_that_cannot_be_obeyed_is_refused_with_its_place(text, fault):
    with pytest.raises(PluginError) as caught:
        parse_manifest(text, "place")

    assert fault in str(caught.value)


MANIFEST = """
guards = true
isolation = "process"
[capabilities]
hosts = ["tickets.acme.example"]
write = ["~/.cache/acme"]
"""


def add_package(site, manifest):
    modules = {"acme/__init__.py": "raise SystemExit", "acme/ferrule.toml": manifest}
    site.add("acme", {"ferrule.plugins:acme": "acme"}, modules)


def test_a_manifest_is_known_without_importing_its_package_also_from_the_cache(site):
    add_package(site, MANIFEST)

    for index in (site.index(), site.index()):
        (entry,) = index.entries("ferrule.plugins")
        assert entry.manifest == parse_manifest(MANIFEST, "")
        told = in_words([entry], {})
        assert "asks to talk to tickets.acme.example" in told
        assert "asks to change ~/.cache/acme" in told
        assert "guards: what it judges is refused where it cannot be used" in told


def test_a_manifest_that_cannot_be_read_puts_its_package_out_of_use(site):
    add_package(site, "guards = 1")

    (standing,) = site.manager().standings
    assert standing.state == "broken"
    assert standing.reason == f"{site.folder}/acme/ferrule.toml: guards must be true or false"
    assert [standing.reason in report for report in site.reports] == [True]
