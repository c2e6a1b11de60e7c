"""The administrator's bound on searching the web: `allowed_web_search_modes`.

Not to search is always allowed. Where nobody chose a mode, the widest allowed one counts that is
not wider than what goes without saying.
"""

from collections.abc import Sequence
from typing import Final, Literal

from ferrule.config.layers import Layer
from ferrule.config.tables import KeyPath, Table, place, texts
from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.host import ConfigOrigin

SearchMode = Literal["disabled", "cached", "indexed", "live"]
SEARCH_MODES: Final = ("disabled", "cached", "indexed", "live")
USUAL_SEARCH: Final = "cached"
"""What counts where nobody chose and something is confined."""
_RULE: Final = "allowed_web_search_modes"
_KEY: Final = "web_search"


def constrain_search(
    values: Table, rules: Layer, layers: Sequence[Layer]
) -> dict[KeyPath, ConfigOrigin]:
    """Apply the bound to the effective values, in place; returns where they come from now.

    Raises:
        ConfigError: Somebody asked for a mode that is not allowed.
    """
    if _RULE not in rules.values:
        return {}
    allowed = ["disabled", *texts(rules.values[_RULE])]
    if _KEY in values:
        if values[_KEY] not in allowed:
            asked = next(layer for layer in reversed(layers) if layer.has((_KEY,)))
            raise ConfigError(
                f"{asked.where((_KEY,))}: `{_KEY}` is {values[_KEY]!r}, but the administrator "
                f"allows only {', '.join(dict.fromkeys(allowed))} ({rules.where((_RULE,))}); "
                "ask for one of these or leave the key out"
            )
        return {}
    is_open = values.get("sandbox_mode") == "danger-full-access"
    usual = SEARCH_MODES.index("live" if is_open else USUAL_SEARCH)
    mode = max(SEARCH_MODES.index(each) for each in allowed if SEARCH_MODES.index(each) <= usual)
    place(values, (_KEY,), SEARCH_MODES[mode])
    return {(_KEY,): ConfigOrigin("requirements", rules.file, rules.line((_RULE,)))}
