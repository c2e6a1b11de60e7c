"""Asks a C compiler for Windows, and Wine, what the numbers of our structures and calls are.

`python measure.py FOLDER` works in a folder and prints what `layouts.json` holds. It needs
mingw-w64 (`x86_64-w64-mingw32-gcc`) and Wine. What Wine shows are the headers' numbers, the names
that its libraries export and how its `CommandLineToArgvW` splits; nothing about confinement.
"""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

from ferrule_sandbox_windows import calls, constants, structures

COMPILER = "x86_64-w64-mingw32-gcc"
HEADER = """\
#define _WIN32_WINNT 0x0A00
#include <windows.h>
#include <aclapi.h>
#include <sddl.h>
#include <shellapi.h>
#include <stddef.h>
#include <stdio.h>
"""
C_VALUES = {
    ctypes.c_int: "(int)sizeof(int[1])",
    ctypes.c_uint32: "(unsigned)sizeof(int[1])",
    ctypes.c_size_t: "(size_t)sizeof(int[1])",
    ctypes.c_void_p: "(void *)1",
    ctypes.c_wchar_p: "(WCHAR *)1",
}
"""None of the numbers is a constant zero, which would do for a pointer, too."""
SPLITTER = r"""
static int split(void) {
    char hex[8192];
    while (fgets(hex, sizeof hex, stdin)) {
        WCHAR line[2048];
        int count = 0, length = 0;
        for (char *at = hex; *at && *at != '\n' && *at != '\r'; at += 4) {
            unsigned unit;
            sscanf(at, "%4x", &unit);
            line[length++] = (WCHAR)unit;
        }
        line[length] = 0;
        WCHAR **words = CommandLineToArgvW(line, &count);
        for (int i = 0; i < count; i++) {
            printf("%s", i ? " " : "");
            for (WCHAR *unit = words[i]; *unit; unit++) printf("%04x", *unit);
            printf(";");
        }
        printf("\n");
    }
    return 0;
}
"""


def our_structures():
    """All structures that are declared, by name."""
    found = vars(structures).values()
    return {
        each.__name__: each
        for each in found
        if isinstance(each, type)
        and issubclass(each, ctypes.Structure)
        and each is not ctypes.Structure
    }


def our_layouts():
    """Size of each structure, and offset of each field."""
    return {
        name: {
            "size": ctypes.sizeof(each),
            **{field: getattr(each, field).offset for field, *_ in each._fields_},
        }
        for name, each in our_structures().items()
    }


def our_constants():
    """All numbers that are declared, by name."""
    return {name: value for name, value in vars(constants).items() if isinstance(value, int)}


def our_calls():
    """All functions that are called, with their library."""
    return {name: library for name, (library, *_) in calls.FUNCTIONS.items()}


def prototypes():
    """Calls that only compile where the headers take as many arguments, of the same kinds."""
    for name, (_, result, arguments) in calls.FUNCTIONS.items():
        given = ", ".join(C_VALUES[each] for each in arguments)
        size = 1 if result is None else ctypes.sizeof(result)
        yield f'_Static_assert(sizeof({name}({given})) == {size}, "{name}");'


def program():
    """A program that prints all of it, as JSON."""
    lines = [HEADER, SPLITTER, *prototypes()]
    say = lines.append
    say("int wmain(int count, WCHAR **words) { if (count > 1) return split();")
    say(r'printf("{\"layouts\": {");')
    for number, (name, layout) in enumerate(our_layouts().items()):
        say(rf'printf("%s\"{name}\": {{\"size\": %zu", {number} ? ", " : "", sizeof({name}));')
        for field in layout:
            if field != "size":
                say(rf'printf(", \"{field}\": %zu", offsetof({name}, {field}));')
        say('printf("}");')
    say(r'printf("}, \"constants\": {");')
    for number, name in enumerate(our_constants()):
        say(
            rf'printf("%s\"{name}\": %llu", {number} ? ", " : "",'
            f" (unsigned long long)(unsigned)({name}));"
        )
    say(r'printf("}, \"exports\": {");')
    for number, (name, library) in enumerate(our_calls().items()):
        say(
            rf'printf("%s\"{name}\": %d", {number} ? ", " : "",'
            f' GetProcAddress(LoadLibraryA("{library}.dll"), "{name}") != NULL);'
        )
    say(r'printf("}}\n");')
    say("return 0; }")
    return "\n".join(lines)


def build(folder):
    """Build the program that prints all of it; returns its path."""
    source = Path(folder, "measure.c")
    source.write_text(program())
    return compiled(source, folder)


def compiled(source, folder):
    """Compile a program into a folder; returns its path."""
    made = Path(folder, source.stem + ".exe")
    strict = ("-Werror=int-conversion", "-Werror=incompatible-pointer-types")
    subprocess.run([COMPILER, *strict, "-municode", "-o", made, source, "-lshell32"], check=True)
    return made


def run(made, *words, text=""):
    """Run it in a Wine of its own."""
    env = {"PATH": os.environ["PATH"], "HOME": str(made.parent), "WINEDEBUG": "-all"}
    env["WINEPREFIX"] = str(made.parent / "wine")
    ended = subprocess.run(
        ["wine", made, *words],
        env=env,
        cwd=made.parent,
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    return ended.stdout


if __name__ == "__main__":
    measured = json.loads(run(build(sys.argv[1])))
    sys.stdout.write(json.dumps(measured, indent=1) + "\n")
