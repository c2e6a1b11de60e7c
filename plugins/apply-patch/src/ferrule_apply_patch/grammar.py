"""The grammar of a patch, as the model's decoder is constrained by it."""

from __future__ import annotations

from typing import Final

DESCRIPTION: Final = (
    "Edits files by a patch. Write the patch itself as the input, not wrapped in JSON. "
    "It adds, deletes, updates and moves files; either all of it is applied or nothing."
)

GRAMMAR: Final = """\
start: opening section+ closing

opening: "*** Begin Patch" NEWLINE
closing: "*** End Patch" NEWLINE?

section: add_file | delete_file | update_file

add_file: "*** Add File: " PATH NEWLINE added_line*
delete_file: "*** Delete File: " PATH NEWLINE
update_file: "*** Update File: " PATH NEWLINE move? chunk+

move: "*** Move to: " PATH NEWLINE
chunk: place? changed_line+ at_end?
place: ("@@" | "@@ " TEXT) NEWLINE
at_end: "*** End of File" NEWLINE

added_line: "+" TEXT? NEWLINE
changed_line: (" " | "+" | "-") TEXT? NEWLINE

PATH: /[^\\r\\n]+/
TEXT: /[^\\r\\n]+/

%import common.NEWLINE
"""
