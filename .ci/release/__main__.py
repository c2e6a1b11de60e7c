"""Makes and checks releases: `python .ci/release COMMAND`. See docs/release.md."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from release import Plan, check, make, package, rehearse
from signing import verify
from tree import ReleaseError, Tree

_ROOT = Path(__file__).resolve().parents[2]


def main(argv: list[str]) -> int:
    """Run a command line; returns the exit code."""
    arguments = _parser().parse_args(argv)
    tree = Tree(Path(arguments.root).resolve())
    try:
        _run(arguments, tree)
    except ReleaseError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


def _run(arguments: argparse.Namespace, tree: Tree) -> None:
    match arguments.command:
        case "check":
            check(tree, arguments.version)
            _say(f"{arguments.version} can be released")
        case "bump":
            changed = tree.bump(arguments.version)
            _say(f"version {arguments.version} in {len(changed)} files")
        case "make" | "build":
            version = arguments.version if arguments.command == "make" else tree.version
            out = Path(arguments.out or f"dist/{version}").resolve()
            plan = Plan(version, out, arguments.key and arguments.key.resolve())
            if arguments.command == "build":
                package(tree, plan, _say)
            elif arguments.dry_run:
                rehearse(tree, plan, _say)
                _say("dry run: this checkout is as it was")
            else:
                make(tree, plan, _say)
                _say(
                    f"left to do by hand:\n  git push origin HEAD v{version}\n  uv publish {out}/*"
                )
        case _:
            _say(f"{verify(Path(arguments.folder), arguments.key)} files are as signed")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python .ci/release", description=__doc__)
    parser.add_argument("--root", default=_ROOT, help="checkout (default: the one this is in)")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("check", "tell whether a version can be released"),
        ("bump", "give all distributions a new version"),
        ("make", "check, bump, write the changelog, commit, tag, build, sum up and sign"),
    ):
        commands.add_parser(name, help=text).add_argument("version")
    commands.add_parser("build", help="build the current commit, sum up and sign")
    for name in ("make", "build"):
        command = commands.choices[name]
        command.add_argument("-o", "--out", help="folder for the files (default: dist/VERSION)")
        command.add_argument("--key", type=Path, help="private SSH key to sign with")
    commands.choices["make"].add_argument(
        "--dry-run", action="store_true", help="do it in a clone that is thrown away"
    )
    checking = commands.add_parser("verify", help="check the files of a release")
    checking.add_argument("folder")
    checking.add_argument("--key", type=Path, required=True, help="public SSH key of the signer")
    return parser


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
