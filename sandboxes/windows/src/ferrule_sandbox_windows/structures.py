"""Structures of the Windows headers, field by field under their names there.

Written with types of fixed width, so that they can be checked on any 64-bit machine:
`tests/layouts.json` holds what a C compiler says of each.
"""

from __future__ import annotations

from ctypes import Structure, c_int64, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p


class SID_AND_ATTRIBUTES(Structure):
    """An identity in a token."""

    _fields_ = (("Sid", c_void_p), ("Attributes", c_uint32))


class TOKEN_USER(Structure):
    """The user of a token."""

    _fields_ = (("User", SID_AND_ATTRIBUTES),)


class TOKEN_GROUPS(Structure):
    """The groups of a token; more than one entry follows."""

    _fields_ = (("GroupCount", c_uint32), ("Groups", SID_AND_ATTRIBUTES * 1))


class TOKEN_DEFAULT_DACL(Structure):
    """The access list that new objects get."""

    _fields_ = (("DefaultDacl", c_void_p),)


class SECURITY_ATTRIBUTES(Structure):
    """Who may use a new object, and whether children inherit its handle."""

    _fields_ = (
        ("nLength", c_uint32),
        ("lpSecurityDescriptor", c_void_p),
        ("bInheritHandle", c_uint32),
    )


class TRUSTEE_W(Structure):
    """Whom an entry is about."""

    _fields_ = (
        ("pMultipleTrustee", c_void_p),
        ("MultipleTrusteeOperation", c_uint32),
        ("TrusteeForm", c_uint32),
        ("TrusteeType", c_uint32),
        ("ptstrName", c_void_p),
    )


class EXPLICIT_ACCESS_W(Structure):
    """An entry that is to be made."""

    _fields_ = (
        ("grfAccessPermissions", c_uint32),
        ("grfAccessMode", c_uint32),
        ("grfInheritance", c_uint32),
        ("Trustee", TRUSTEE_W),
    )


class ACE_HEADER(Structure):
    """How every entry of an access list begins."""

    _fields_ = (("AceType", c_uint8), ("AceFlags", c_uint8), ("AceSize", c_uint16))


class ACCESS_ALLOWED_ACE(Structure):
    """An entry that grants or, with another type, refuses; the identity begins at `SidStart`."""

    _fields_ = (("Header", ACE_HEADER), ("Mask", c_uint32), ("SidStart", c_uint32))


class ACL_SIZE_INFORMATION(Structure):
    """How many entries an access list has."""

    _fields_ = (("AceCount", c_uint32), ("AclBytesInUse", c_uint32), ("AclBytesFree", c_uint32))


class STARTUPINFOW(Structure):
    """What a new process is given."""

    _fields_ = (
        ("cb", c_uint32),
        ("lpReserved", c_void_p),
        ("lpDesktop", c_void_p),
        ("lpTitle", c_void_p),
        ("dwX", c_uint32),
        ("dwY", c_uint32),
        ("dwXSize", c_uint32),
        ("dwYSize", c_uint32),
        ("dwXCountChars", c_uint32),
        ("dwYCountChars", c_uint32),
        ("dwFillAttribute", c_uint32),
        ("dwFlags", c_uint32),
        ("wShowWindow", c_uint16),
        ("cbReserved2", c_uint16),
        ("lpReserved2", c_void_p),
        ("hStdInput", c_void_p),
        ("hStdOutput", c_void_p),
        ("hStdError", c_void_p),
    )


class STARTUPINFOEXW(Structure):
    """What a new process is given, and what of this one's handles."""

    _fields_ = (("StartupInfo", STARTUPINFOW), ("lpAttributeList", c_void_p))


class PROCESS_INFORMATION(Structure):
    """A new process and its first thread."""

    _fields_ = (
        ("hProcess", c_void_p),
        ("hThread", c_void_p),
        ("dwProcessId", c_uint32),
        ("dwThreadId", c_uint32),
    )


class IO_COUNTERS(Structure):
    """What a job has read and written."""

    _fields_ = (
        ("ReadOperationCount", c_uint64),
        ("WriteOperationCount", c_uint64),
        ("OtherOperationCount", c_uint64),
        ("ReadTransferCount", c_uint64),
        ("WriteTransferCount", c_uint64),
        ("OtherTransferCount", c_uint64),
    )


class JOBOBJECT_BASIC_LIMIT_INFORMATION(Structure):
    """Bounds of a job."""

    _fields_ = (
        ("PerProcessUserTimeLimit", c_int64),
        ("PerJobUserTimeLimit", c_int64),
        ("LimitFlags", c_uint32),
        ("MinimumWorkingSetSize", c_size_t),
        ("MaximumWorkingSetSize", c_size_t),
        ("ActiveProcessLimit", c_uint32),
        ("Affinity", c_size_t),
        ("PriorityClass", c_uint32),
        ("SchedulingClass", c_uint32),
    )


class JOBOBJECT_EXTENDED_LIMIT_INFORMATION(Structure):
    """Bounds of a job, those on memory included."""

    _fields_ = (
        ("BasicLimitInformation", JOBOBJECT_BASIC_LIMIT_INFORMATION),
        ("IoInfo", IO_COUNTERS),
        ("ProcessMemoryLimit", c_size_t),
        ("JobMemoryLimit", c_size_t),
        ("PeakProcessMemoryUsed", c_size_t),
        ("PeakJobMemoryUsed", c_size_t),
    )


class JOBOBJECT_BASIC_UI_RESTRICTIONS(Structure):
    """What of the desktop a job must not touch."""

    _fields_ = (("UIRestrictionsClass", c_uint32),)
