"""The file: text in the format OpenMetrics, replaced as a whole, added to by many processes.

A counter must never go back, and several processes of Ferrule may run at a time. So the sums are
kept in a small database beside the file, whose lock lets one after the other add to them.
"""

import os
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

from gallery_metrics.samples import FAMILIES, Sample, bucket

SERIES: Final = 200  # of one family; names of tools may come from anywhere
_OTHER: Final = 'other="true"'
_PATIENCE_S: Final = 3  # less than what a hook has
_TABLE: Final = """
create table if not exists sums (
    family text, suffix text, labels text, value real, primary key (family, suffix, labels)
)"""
_ADD: Final = """
insert into sums values (?, ?, ?, ?)
on conflict do update set value = value + excluded.value"""


def write(path: Path, samples: Mapping[Sample, float]) -> None:
    """Add samples to those of the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    database = path.with_name(f"{path.name}.db")
    with closing(sqlite3.connect(database, timeout=_PATIENCE_S, isolation_level=None)) as sums:
        sums.execute(_TABLE)
        sums.execute("begin immediate")  # from here on nobody else writes, the file included
        known = {Sample(*row) for row in sums.execute("select family, suffix, labels from sums")}
        for sample, value in samples.items():
            kept = _bounded(sample, known)
            known.add(kept)
            sums.execute(_ADD, (*kept, value))
        rows = sums.execute("select * from sums order by labels")
        text = _text({Sample(*row[:3]): row[3] for row in rows})
        new = path.with_name(f"{path.name}.{os.getpid()}")
        new.write_text(text, encoding="utf-8")
        new.replace(path)  # whoever reads sees the old file or the new one
        sums.execute("commit")


def _bounded(sample: Sample, known: Iterable[Sample]) -> Sample:
    """Return the sample, or the one that stands for all when there are too many."""
    if sample in known or sum(each.family == sample.family for each in known) < SERIES:
        return sample
    return sample._replace(labels=_OTHER)


def _text(sums: Mapping[Sample, float]) -> str:
    lines: list[str] = []
    for name, family in FAMILIES.items():
        kind = "histogram" if family.buckets else "counter"
        lines += [f"# TYPE {name} {kind}", f"# HELP {name} {family.help}"]
        samples = [each for each in sums if each.family == name]
        if family.buckets and samples:
            ordered = [bucket(name, bound) for bound in (*family.buckets, float("inf"))]
            samples = [*ordered, Sample(name, "_sum"), Sample(name, "_count")]
        lines += [_line(sample, sums.get(sample, 0)) for sample in samples]
    return "\n".join([*lines, "# EOF\n"])


def _line(sample: Sample, value: float) -> str:
    labels = f"{{{sample.labels}}}" if sample.labels else ""
    return f"{sample.family}{sample.suffix}{labels} {value:.16g}"
