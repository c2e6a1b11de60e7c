"""Ways around a rule: each runs, or lets another program run, a command that a rule forbids."""

from __future__ import annotations

from pathlib import Path

import pytest

RULES = "forbidden prefix curl\nforbidden prefix git push\nforbidden prefix npm publish\n"
WAYS = (Path(__file__).parent / "evasions.txt").read_text("utf-8").rstrip("\n").split("\n%%\n")


@pytest.mark.parametrize("script", WAYS)
def test_no_way_leads_around_a_rule(judge, script):
    assert judge(script, RULES).decision in ("prompt", "forbidden")


@pytest.mark.parametrize(
    "script",
    [
        "awk '{print $1 \"|\" $2}' f",
        "awk -F'|' '{if ($1 || $2) print \"curl\"}' f",
        "sed -i 's/curl/wget/g' docs/a/b/e.md",
        "sed -n '/eval(/p' f",
        "python3 -c 'print(1)'",
        "python3 - <<'X'\nimport json\nprint(json.dumps({'curl': 1}))\nX",
        "cat > notes.md <<'X'\nuse `curl x` or git push\nX",
        "cat > a.py <<'X'\nprint('git push')\nX\npython3 a.py",
        "git commit -m 'say `curl x`, then git push'",
        "git log --grep='git push'",
        "git -c user.name=curl commit -m x",
        "git clean -x d",
        "rsync -av --exclude curl a b",
        "ssh -o StrictHostKeyChecking=no host ls",
        "tar -czf a.tgz --exclude=curl .",
        "psql -c 'select 1'",
        "docker run --rm --name curl -it node:20 ls",
        "grep -rn 'a[$(' src",
        "cp a b && ./b",
        "printf '%s %d%%\\n' curl 7",
    ],
)
def test_what_only_speaks_of_it_is_let_be(judge, script):
    assert judge(script, RULES).decision is None


@pytest.mark.parametrize(
    "script",
    [
        'eval "$(cat f)"',
        "x=$(cat f); $x",
        "$CMD",
        'bash -c "$x"',
        "read -r x; $x",
        "python3 -c 'import os, sys; os.system(sys.argv[1])' x",
        "xargs -I{} sh -c '{}' < f",
        "while read -r line; do $line; done < f",
        "git --config-env=core.pager=X log",
    ],
)
def test_a_command_that_cannot_be_known_may_be_the_one_that_is_meant(judge, script):
    assert judge(script, "forbidden prefix git push --force\n").decision == "prompt"
    assert judge(script, "forbidden exact make clean\n").decision == "prompt"


@pytest.mark.parametrize(
    "script",
    [
        "printf -v 'a[$(curl x)]' 1",
        "test -v 'a[$(curl x)]'",
        "[ -v 'a[`curl x`]' ]",
        "unset 'a[$(curl x)]'",
        "read 'a[$(curl x)]'",
    ],
)
def test_a_builtin_that_runs_what_stands_in_brackets_is_never_allowed(judge, script):
    allowing = "".join(
        f"allow prefix {name}\n" for name in ("printf", "test", "[", "unset", "read")
    )
    assert not judge(script, allowing).is_allowed
