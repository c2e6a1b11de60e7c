"""What is measured: the families of metrics, and the samples that one event adds to."""

from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

SECONDS: Final = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
TOKENS: Final = (300.0, 1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6)
_LONGEST_LABEL: Final = 100


class Family(NamedTuple):
    """A metric: its help, and the bounds of its buckets where it is a histogram."""

    help: str
    buckets: tuple[float, ...] = ()


FAMILIES: Final[Mapping[str, Family]] = {
    "ferrule_turns": Family("Turns that ended, by status."),
    "ferrule_turn_seconds": Family("How long turns took.", SECONDS),
    "ferrule_requests": Family("Requests to models, by model and outcome."),
    "ferrule_tokens": Family("Tokens, by model and kind."),
    "ferrule_request_tokens": Family("Tokens of one request.", TOKENS),
    "ferrule_tool_calls": Family("Calls of tools, by tool and outcome."),
    "ferrule_approvals": Family("Calls that somebody had to approve."),
}


class Sample(NamedTuple):
    """One line of the file, without its value: its family, what follows its name, its labels."""

    family: str
    suffix: str
    labels: str = ""


def counted(family: str, number: int = 1, **labels: str) -> Counter[Sample]:
    """Return what a counter grows by."""
    texts = (f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return Counter({Sample(family, "_total", ",".join(texts)): number})


def observed(family: str, value: float) -> Counter[Sample]:
    """Return what a histogram grows by; each bucket holds those below it as well."""
    samples = Counter({Sample(family, "_count"): 1, Sample(family, "_sum"): value})
    for bound in (*FAMILIES[family].buckets, float("inf")):
        samples[bucket(family, bound)] = int(value <= bound)
    return samples  # pyright: ignore[reportReturnType] -- sums are no whole numbers


def bucket(family: str, bound: float) -> Sample:
    """Return the sample of one bucket."""
    return Sample(family, "_bucket", f'le="{"+Inf" if bound == float("inf") else bound}"')


def _escaped(text: str) -> str:
    short = text[:_LONGEST_LABEL]
    return short.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
