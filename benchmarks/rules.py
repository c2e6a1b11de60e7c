"""Measures the rules: what the static heuristics find, and how fast commands are judged.

    .venv/bin/python benchmarks/rules.py

The commands are those of `../shared/conformance/commands`, per source. A command counts as asked
about where the heuristics find any danger, and as denied where they find a grave one.
"""

from __future__ import annotations

import collections
import json
import random
import sys
import time
from pathlib import Path

from ferrule_rules.judgement import Judge
from ferrule_rules.rule_file import read_rules
from ferrule_rules.sources import together

COMMANDS = Path(__file__).parents[2] / "shared" / "conformance" / "commands" / "commands.jsonl"
SCRIPTS_FLOOR, ARGV_FLOOR, LOAD_CEILING_S = 5_000, 100_000, 1.0
RECALL_FLOOR, DENIED_CEILING, ASKED_CEILING = 0.90, 0.05, 0.10


def level(found):
    if any(one.danger.severity == "high" for one in found.threats):
        return "denied"
    return "asked" if found.threats or found.unread else "run"


def per_source(commands, found):
    counts = collections.Counter()
    for command, judgement in zip(commands, found, strict=True):
        source = command["source"].partition("@")[0].partition(" (")[0]
        counts[source, command["label"], level(judgement)] += 1
    print(f"{'source':<48} {'label':<11} {'number':>6} {'denied':>7} {'asked':>7} {'run':>7}")
    for source, label in sorted({key[:2] for key in counts}):
        numbers = [counts[source, label, kind] for kind in ("denied", "asked", "run")]
        total = sum(numbers)
        shares = " ".join(f"{number / total:>6.1%} " for number in numbers)
        print(f"{source:<48} {label:<11} {total:>6} {shares}")
    return counts


def share(counts, label, *levels):
    total = sum(n for (_, one, _), n in counts.items() if one == label)
    return sum(n for (_, one, kind), n in counts.items() if one == label and kind in levels) / total


def best(measure, rounds=5):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        measure()
        times.append(time.perf_counter() - start)
    return min(times)


def many_rules(count, *, plain):
    random_ = random.Random(1)
    lines = []
    for number in range(count):
        decision = random_.choice(["allow", "prompt", "forbidden"])
        if plain:
            lines.append(f"{decision} prefix tool{number % 997} sub{number} --x")
        else:
            words = f'"tool{number % 997}", "sub{number}", "--x"'
            lines.append(f'prefix_rule(pattern=[{words}], decision="{decision}")')
    return "\n".join(lines)


def line(name, value, floor, unit, ratio):
    shown = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    print(f"{name:<44} {shown:>10} {unit:<9} stated {floor:>9,} {unit:<9} {ratio:>6.1f} x")


def rates(commands):
    judge = Judge(together([read_rules("x", "forbidden prefix curl x\nallow prefix ls\n")]))
    scripts = [command["command"] for command in commands]
    seconds = best(lambda: [judge.script(script) for script in scripts])
    rate = len(scripts) / seconds
    line("scripts judged, all of the corpus", rate, SCRIPTS_FLOOR, "1/s", rate / SCRIPTS_FLOOR)
    starlark, plain = many_rules(10_000, plain=False), many_rules(10_000, plain=True)
    rules = together([read_rules("x", starlark)]).rules
    argvs = [(f"tool{n % 997}", f"sub{n}", "--x", "more") for n in range(20_000)]
    seconds = best(lambda: [rules.matches(argv) for argv in argvs])
    rate = len(argvs) / seconds
    line("argument lists matched, 10,000 rules", rate, ARGV_FLOOR, "1/s", rate / ARGV_FLOOR)
    for name, text in (("Starlark", starlark), ("plain lines", plain)):
        seconds = best(lambda text=text: together([read_rules("x", text)]), 3)
        ratio = LOAD_CEILING_S / seconds
        line(f"10,000 rules loaded, {name}", seconds, LOAD_CEILING_S, "s", ratio)


def main():
    if not COMMANDS.exists():
        print(f"{COMMANDS} is absent: nothing is measured")
        return 1
    commands = [json.loads(text) for text in COMMANDS.read_text("utf-8").splitlines()]
    judge = Judge(together([]))
    counts = per_source(commands, [judge.script(command["command"]) for command in commands])
    recall = share(counts, "deny", "denied")
    denied, asked = share(counts, "allow", "denied"), share(counts, "unlabelled", "denied", "asked")
    print()
    print(f"{'recall on deny':<44} {recall:>10.1%}           stated >= {RECALL_FLOOR:.0%}")
    print(f"{'allow denied':<44} {denied:>10.1%}           stated <= {DENIED_CEILING:.0%}")
    print(f"{'unlabelled asked about':<44} {asked:>10.1%}           stated <= {ASKED_CEILING:.0%}")
    print()
    rates(commands)
    is_good = recall >= RECALL_FLOOR and denied <= DENIED_CEILING and asked <= ASKED_CEILING
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
