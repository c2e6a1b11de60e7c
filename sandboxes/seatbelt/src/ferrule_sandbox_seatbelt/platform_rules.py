"""What programs on macOS need whatever the policy says: the parts of a profile that are the same.

Everything is denied by default, so each of these lines is there because shells, Python, git or Node
do not work without it. Left out on purpose: the keychain (`com.apple.SecurityServer`), the
clipboard, Apple events, opening applications, and the settings of the kernel by which the arguments
and the environment of other processes can be read (`kern.procargs2`).
"""

from __future__ import annotations

from typing import Final

PROCESSES: Final = """\
(version 1)
(deny default)

(allow process-exec)
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow file-map-executable)
"""

SYSTEM: Final = """\
(allow sysctl-read
  (sysctl-name-prefix "hw.")
  (sysctl-name-prefix "machdep.cpu.")
  (sysctl-name "kern.argmax")
  (sysctl-name "kern.bootargs")
  (sysctl-name "kern.boottime")
  (sysctl-name "kern.clockrate")
  (sysctl-name "kern.hostname")
  (sysctl-name "kern.iossupportversion")
  (sysctl-name "kern.maxfiles")
  (sysctl-name "kern.maxfilesperproc")
  (sysctl-name "kern.maxproc")
  (sysctl-name "kern.maxprocperuid")
  (sysctl-name "kern.ngroups")
  (sysctl-name "kern.osproductversion")
  (sysctl-name "kern.osrelease")
  (sysctl-name "kern.ostype")
  (sysctl-name "kern.osvariant_status")
  (sysctl-name "kern.osversion")
  (sysctl-name "kern.secure_kernel")
  (sysctl-name "kern.usrstack64")
  (sysctl-name "kern.version")
  (sysctl-name "kern.willshutdown")
  (sysctl-name "sysctl.proc_cputype")
  (sysctl-name "vm.loadavg"))

(allow mach-lookup
  (global-name "com.apple.bsd.dirhelper")
  (global-name "com.apple.cfprefsd.agent")
  (global-name "com.apple.cfprefsd.daemon")
  (global-name "com.apple.logd")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership"))
(allow user-preference-read)
(allow ipc-posix-sem)
(allow ipc-posix-shm-read* (ipc-posix-name-prefix "apple.cfprefs."))
(allow ipc-posix-shm-read*
  (ipc-posix-name "apple.shm.notification_center"))
(allow ipc-posix-shm*
  (ipc-posix-name-prefix "/psm_")
  (ipc-posix-name-prefix "/__KMP_REGISTERED_LIB_"))
"""

DEVICES: Final = """\
(allow file-write-data
  (literal "/dev/null")
  (literal "/dev/zero")
  (literal "/dev/stdout")
  (literal "/dev/stderr")
  (subpath "/dev/fd"))
(allow file-write-data file-ioctl
  (literal "/dev/dtracehelper")
  (literal "/dev/tty"))
(allow pseudo-tty)
(allow file-read* file-write-data file-ioctl
  (literal "/dev/ptmx"))
(allow file-read* file-write-data
  (require-all
    (regex "^/dev/ttys[0-9]+$")
    (extension "com.apple.sandbox.pty")))
(allow file-ioctl
  (regex "^/dev/ttys[0-9]+$"))
"""
"""A terminal that the command opens itself is its own; any other can only be asked about, and that
takes a descriptor which the command was given."""

NETWORK: Final = """\
(allow network-outbound (remote ip "*:*"))
(allow network-inbound (local ip "*:*"))
(allow network-bind (local ip "*:*"))
(allow network-outbound (literal "/private/var/run/mDNSResponder"))
(allow system-socket
  (require-all (socket-domain AF_SYSTEM) (socket-protocol 2)))
(allow mach-lookup
  (global-name "com.apple.SystemConfiguration.DNSConfiguration")
  (global-name "com.apple.SystemConfiguration.configd")
  (global-name "com.apple.dnssd.service")
  (global-name "com.apple.networkd")
  (global-name "com.apple.ocspd")
  (global-name "com.apple.trustd")
  (global-name "com.apple.trustd.agent"))
"""
"""Internet addresses, name resolution by the system and the checking of certificates; of the
sockets of local services only that of the resolver."""
