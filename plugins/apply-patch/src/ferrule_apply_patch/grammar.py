"""The grammar of a patch, as the model's decoder is constrained by it."""

from __future__ import annotations

from typing import Final

DESCRIPTION: Final = (
    "Edits files by a patch. Write the patch itself as the input, not wrapped in JSON. "
    "It adds, deletes, updates and moves files; either all of it is applied or nothing."
)

GRAMMAR: Final = """\
start: opening section+ closing

opening: "*** Begin Patch" LF
closing: "*** End Patch" LF?

section: add_file | delete_file | update_file

add_file: "*** Add File: " TEXT LF added_line*
delete_file: "*** Delete File: " TEXT LF
update_file: "*** Update File: " TEXT LF move? chunk+

move: "*** Move to: " TEXT LF
chunk: place? changed_line+ at_end?
place: ("@@" | "@@ " TEXT) LF
at_end: "*** End of File" LF

added_line: "+" TEXT? LF
changed_line: (" " | "+" | "-") TEXT? LF

TEXT: /[^\\r\\n]+/

%import common.LF
"""
