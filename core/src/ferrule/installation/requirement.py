"""What a user names after `ferrule plugins add`, made into something that can be wanted again.

A name with a version, a wheel, a folder or a URL; what lies on this machine gets an absolute place.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Final

from ferrule.installation.wanted import Sources, Wanted
from ferrule.versions import normal_name
from ferrule_hookspecs.errors import PluginError

_NAMED: Final = re.compile(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?P<extras>\[[A-Za-z0-9._,\s-]*\])?"
    r"\s*(?P<rest>(?:@\s*\S+|\(?\s*(?:[<>=!~]=?|===)[^@\[;]*)?)"
)
_CREDENTIALS: Final = re.compile(r"(?<!ssh)://[^/\s?#]*@|(?<=ssh)://[^/\s?#]*:[^/\s?#]*@")
_ITSELF: Final = frozenset({"ferrule", "ferrule-core", "ferrule-hookspecs"})


def wanted_of(text: str, sources: Sources = Sources()) -> Wanted:  # noqa: B008 -- it is frozen
    """Understand a requirement as it was typed.

    Raises:
        PluginError: It cannot be understood, or names Ferrule itself.
    """
    typed = text.strip()
    if typed.endswith(".whl") and "@" not in typed and "://" not in typed:
        return _of_wheel(Path(os.path.abspath(os.path.expanduser(typed))), sources)
    if os.sep in typed and "@" not in typed and "://" not in typed:
        folder = os.path.abspath(os.path.expanduser(typed))
        name = _project_name(folder)
        return _checked(Wanted(name, f"{name} @ {Path(folder).as_uri()}", sources=sources))
    match = _NAMED.fullmatch(typed)
    if match is None:
        hint = "; a URL needs its name in front: NAME @ URL" if "://" in typed else ""
        raise PluginError(
            f"{text!r} is no requirement such as acme-ticket, 'acme-ticket>=1,<2' or a wheel{hint}"
        )
    return _checked(Wanted(normal_name(match["name"]), typed, sources=sources))


def wanted_checkout(folder: str, sources: Sources = Sources()) -> Wanted:  # noqa: B008 -- it is frozen
    """Understand a folder that is to be installed in editable mode.

    Raises:
        PluginError: No project is there.
    """
    path = os.path.abspath(os.path.expanduser(folder))
    return _checked(Wanted(_project_name(path), path, editable=True, sources=sources))


def without_secrets_in(text: str) -> str:
    """Take names and passwords out of the URLs of a text; the user of an ssh URL is no secret."""
    return _CREDENTIALS.sub("://", text)


def _of_wheel(path: Path, sources: Sources) -> Wanted:
    if not path.is_file():
        raise PluginError(f"there is no wheel {path}")
    name = normal_name(path.name.partition("-")[0])
    return _checked(Wanted(name, f"{name} @ {path.as_uri()}", sources=sources))


def _project_name(folder: str) -> str:
    path = Path(folder, "pyproject.toml")
    try:
        project = tomllib.loads(path.read_text("utf-8"))["project"]
        return normal_name(str(project["name"]))
    except FileNotFoundError:
        raise PluginError(f"{folder} is no project: there is no {path}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PluginError(f"{path} does not name its project: {error}") from None


def _checked(wanted: Wanted) -> Wanted:
    if wanted.name in _ITSELF:
        raise PluginError(
            f"{wanted.name} is Ferrule itself; how it is upgraded says: ferrule update-check"
        )
    return wanted
