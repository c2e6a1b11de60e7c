"""The machine code of the starter, by hand: what it does is told in `starter.py`.

Each line holds one instruction as the processor reads it, the same in words, and why. A block of
eight numbers, the facts, lies right before the code: address of the first call, address behind the
last one, address of the shell's name, address and length of what to say when a program cannot be
run, the same when it does not exist, and the descriptor to report a failed call to. A call is six
numbers: its own and five arguments.

On entry the stack pointer points to the number of arguments, and the arguments follow: the
starter's own name, the program to run, and the program's arguments from its name on.
"""

from __future__ import annotations

from typing import Final

FACTS: Final = 8
CALL: Final = 6

_X86_64: Final = """
48 8d 2d b9 ff ff ff | lea  rbp, [start - 64]      | the facts
48 8b 5d 00          | mov  rbx, [rbp]             | the first call
48 8b 03             | mov  rax, [rbx]             | next: the number of the call
48 8b 7b 08          | mov  rdi, [rbx + 8]         | its arguments
48 8b 73 10          | mov  rsi, [rbx + 16]        |
48 8b 53 18          | mov  rdx, [rbx + 24]        |
4c 8b 53 20          | mov  r10, [rbx + 32]        |
4c 8b 43 28          | mov  r8, [rbx + 40]         |
0f 05                | syscall                     | do it
48 85 c0             | test rax, rax               | a negative answer is an error
78 70                | js   failed                 |
48 83 c3 30          | add  rbx, 48                | on to the next call
48 3b 5d 08          | cmp  rbx, [rbp + 8]         | was that the last one?
72 d8                | jb   next                   |
48 8b 7c 24 10       | mov  rdi, [rsp + 16]        | the program
48 8d 74 24 18       | lea  rsi, [rsp + 24]        | its arguments
48 8b 14 24          | mov  rdx, [rsp]             | the environment lies behind them all
48 8d 54 d4 10       | lea  rdx, [rsp + rdx*8 + 16] |
b8 3b 00 00 00       | mov  eax, 59                | execve
0f 05                | syscall                     | comes back only with an error
83 f8 f8             | cmp  eax, -8                | ENOEXEC: a script without a first line
75 1a                | jne  refused                |
48 89 7c 24 18       | mov  [rsp + 24], rdi        | the program becomes an argument
48 8b 7d 10          | mov  rdi, [rbp + 16]        | of the shell
48 89 7c 24 10       | mov  [rsp + 16], rdi        |
48 8d 74 24 10       | lea  rsi, [rsp + 16]        |
b8 3b 00 00 00       | mov  eax, 59                | execve
0f 05                | syscall                     |
bb 7e 00 00 00       | mov  ebx, 126               | refused: the exit code of a shell
48 8b 75 18          | mov  rsi, [rbp + 24]        | what to say
48 8b 55 20          | mov  rdx, [rbp + 32]        |
83 f8 fe             | cmp  eax, -2                | ENOENT: it does not exist
75 0d                | jne  say                    |
bb 7f 00 00 00       | mov  ebx, 127               |
48 8b 75 28          | mov  rsi, [rbp + 40]        |
48 8b 55 30          | mov  rdx, [rbp + 48]        |
bf 02 00 00 00       | mov  edi, 2                 | say: to standard error
b8 01 00 00 00       | mov  eax, 1                 | write
0f 05                | syscall                     |
eb 1a                | jmp  leave                  |
50                   | push rax                    | failed: the error
53                   | push rbx                    | and the call it was
48 8b 7d 38          | mov  rdi, [rbp + 56]        | are reported
48 89 e6             | mov  rsi, rsp               |
ba 10 00 00 00       | mov  edx, 16                |
b8 01 00 00 00       | mov  eax, 1                 | write
0f 05                | syscall                     |
bb 7d 00 00 00       | mov  ebx, 125               | and nothing is run
89 df                | mov  edi, ebx               | leave:
b8 e7 00 00 00       | mov  eax, 231               | exit_group
0f 05                | syscall                     |
"""

_AARCH64: Final = """
10fffe14 | adr  x20, start - 64        | the facts
f9400293 | ldr  x19, [x20]             | the first call
f9400268 | ldr  x8, [x19]              | next: the number of the call
a9408660 | ldp  x0, x1, [x19, #8]      | its arguments
a9418e62 | ldp  x2, x3, [x19, #24]     |
f9401664 | ldr  x4, [x19, #40]         |
d4000001 | svc  #0                     | do it
b7f803c0 | tbnz x0, #63, failed        | a negative answer is an error
9100c273 | add  x19, x19, #48          | on to the next call
f9400681 | ldr  x1, [x20, #8]          | was that the last one?
eb01027f | cmp  x19, x1                |
54fffee3 | b.lo next                   |
f9400bf5 | ldr  x21, [sp, #16]         | the program
aa1503e0 | mov  x0, x21                |
910063e1 | add  x1, sp, #24            | its arguments
f94003e2 | ldr  x2, [sp]               | the environment lies behind them all
8b226fe2 | add  x2, sp, x2, lsl #3     |
91004042 | add  x2, x2, #16            |
d2801ba8 | mov  x8, #221               | execve
d4000001 | svc  #0                     | comes back only with an error
b100201f | cmn  x0, #8                 | ENOEXEC: a script without a first line
540000c1 | b.ne refused                |
f9000ff5 | str  x21, [sp, #24]         | the program becomes an argument
f9400a80 | ldr  x0, [x20, #16]         | of the shell
f9000be0 | str  x0, [sp, #16]          |
910043e1 | add  x1, sp, #16            |
d4000001 | svc  #0                     | execve; x8 and x2 are as before
d2800fd3 | mov  x19, #126              | refused: the exit code of a shell
a9418a81 | ldp  x1, x2, [x20, #24]     | what to say
b100081f | cmn  x0, #2                 | ENOENT: it does not exist
54000061 | b.ne say                    |
d2800ff3 | mov  x19, #127              |
a9428a81 | ldp  x1, x2, [x20, #40]     |
d2800040 | mov  x0, #2                 | say: to standard error
d2800808 | mov  x8, #64                | write
d4000001 | svc  #0                     |
14000008 | b    leave                  |
a9bf03f3 | stp  x19, x0, [sp, #-16]!   | failed: the call it was and the error
f9401e80 | ldr  x0, [x20, #56]         | are reported
910003e1 | mov  x1, sp                 |
d2800202 | mov  x2, #16                |
d2800808 | mov  x8, #64                | write
d4000001 | svc  #0                     |
d2800fb3 | mov  x19, #125              | and nothing is run
aa1303e0 | mov  x0, x19                | leave:
d2800bc8 | mov  x8, #94                | exit_group
d4000001 | svc  #0                     |
"""


def _bytes(listing: str, word: int) -> bytes:
    """Take the first column of a listing; the processor reads words with the last byte first."""
    columns = (line.partition("|")[0] for line in listing.strip().splitlines())
    pieces = (bytes.fromhex(column) for column in columns)
    return b"".join(piece[::-1] if word > 1 else piece for piece in pieces)


CODE: Final = {"x86_64": _bytes(_X86_64, 1), "aarch64": _bytes(_AARCH64, 4)}
LISTINGS: Final = {"x86_64": _X86_64, "aarch64": _AARCH64}
