"""Probes that try to reach other processes, the network, services, the kernel and devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule_certify.probes.confinement import BOTH, attacks

if TYPE_CHECKING:
    from ferrule_certify.probe import Mode, Probe

_DOOR: Final[tuple[Mode, ...]] = ("door",)
_ALWAYS: Final[tuple[Mode, ...]] = ("read-only", "workspace-write", "network")

_OTHERS_SECRETS: Final = {
    "secrets.environment_of_process": "The environment of a process outside cannot be read.",
    "secrets.memory_call": "The memory of a process outside cannot be read by a call.",
    "secrets.memory_file": "The memory of a process outside cannot be read by its file.",
    "secrets.memory_trace": "The memory of a process outside cannot be read by tracing it.",
}
_OTHERS: Final = {
    "processes.trace": "A process outside cannot be traced.",
    "processes.memory_write": "The memory of a process outside cannot be written.",
    "processes.steal_descriptor": "A descriptor cannot be taken from a process outside.",
    "processes.namespace": "The namespaces of a process outside cannot be entered.",
}
_PROCESSES: Final = {
    "processes.see": "A process outside cannot be seen.",
    "processes.signal": "A process outside cannot be signalled.",
    "processes.handle": "No handle of a process outside can be got.",
    "processes.handle_signal": "A process outside cannot be signalled by a handle.",
    "processes.call_with_handle": "No call can be made on a process outside by its handle.",
    "processes.priority": "The priority of a process outside cannot be set.",
    "processes.limits": "The bounds of a process outside cannot be set.",
    "processes.processors": "The processors of a process outside cannot be set.",
}
_DESCRIPTORS: Final = {
    "inherited.descriptors": "No descriptor beyond the standard ones reaches the command.",
}
_DESCRIPTORS_OUT: Final = {
    "inherited.folder": "No inherited folder lets the command write outside.",
    "inherited.file": "No inherited file outside can be written.",
}
_KEYS: Final = {
    "secrets.session_keyring": "A key in the session's keyring cannot be read.",
    "secrets.user_keyring": "A key in the user's keyring cannot be read.",
}
_SHARED: Final = {
    "secrets.shared_memory": "Shared memory of programs outside (System V) cannot be read.",
    "secrets.shared_file": "Shared memory of programs outside (POSIX) cannot be read.",
}
_NETWORK: Final = {
    "network.tcp": "A TCP server on the machine's loopback address is out of reach.",
    "network.tcp6": "A TCP server on the IPv6 loopback address is out of reach.",
    "network.tcp_mapped": "An IPv4 address written as IPv6 is out of reach.",
    "network.tcp_own_address": "A TCP server on the machine's own address is out of reach.",
    "network.tcp_multipath": "Multipath TCP leads no further than TCP.",
    "network.tcp_without_connect": "TCP that sends with its first packet leads no further.",
    "network.udp": "A UDP server is out of reach.",
    "network.udp6": "A UDP server is out of reach by IPv6.",
    "network.udp_message": "A UDP server is out of reach of messages with an address.",
    "network.udp_connected": "A UDP server is out of reach of connected sockets.",
    "network.udp_lite": "UDP-Lite leads no further than UDP.",
    "network.dns": "A question to a name server does not leave.",
}
_WAYS: Final = {
    "network.name_service": "The name server that the machine is set up with is out of reach.",
}
_RAW: Final = {
    "network.raw": "Raw sockets cannot be opened.",
    "network.raw6": "Raw sockets of IPv6 cannot be opened.",
    "network.packet": "Sockets for whole packets cannot be opened.",
    "network.virtual_machine": "Sockets to the host of a virtual machine cannot be opened.",
    "network.kernel_crypto": "Sockets of the kernel's own ciphers cannot be opened.",
    "network.audit": "Sockets of the audit system cannot be opened.",
    "network.other_families": "No socket of any other family can be opened.",
}
_UNIX: Final = {
    "unix.stream": "The socket of a service outside is out of reach.",
    "unix.root_of_self": "The socket of a service is out of reach by way of /proc.",
    "unix.link": "The socket of a service is out of reach through a new link.",
    "unix.datagram": "The datagram socket of a service is out of reach.",
    "unix.datagram_message": "The datagram socket of a service gets no message.",
}
_ABSTRACT: Final = {
    "unix.abstract": "An abstract socket of a service is out of reach.",
    "unix.abstract_datagram": "An abstract datagram socket of a service is out of reach.",
}
_BESIDE_DOOR: Final = {
    "door.other_port": "Beside the managed proxy no other port is in reach.",
    "door.other_port6": "Beside the managed proxy no port is in reach by IPv6.",
    "door.datagram": "Beside the managed proxy no datagram leaves.",
}
_KERNEL: Final = {
    "kernel.io_uring": "Rings of system calls (io_uring) cannot be set up.",
    "kernel.bpf": "Programs and maps cannot be loaded into the kernel (bpf).",
    "kernel.performance_counters": "Performance counters cannot be opened.",
    "kernel.page_faults": "Page faults cannot be handled in user space.",
    "kernel.add_key": "No key can be added to a keyring.",
    "kernel.keyring": "The session's keyring cannot be named.",
    "kernel.request_key": "No key can be asked for.",
    "kernel.watch_files": "File systems cannot be watched (fanotify).",
    "kernel.mount": "File systems cannot be mounted.",
    "kernel.new_mount_calls": "The newer calls to mount are closed as well.",
    "kernel.copy_mounts": "Trees of mounts cannot be copied.",
    "kernel.unmount": "File systems cannot be unmounted.",
    "kernel.change_root": "The root folder cannot be changed.",
    "kernel.exchange_root": "The root file system cannot be exchanged.",
    "kernel.user_namespace": "A namespace of users cannot be made.",
    "kernel.mount_namespace": "A namespace of mounts cannot be made.",
    "kernel.powers_of_namespace": "No namespace gives the power to mount.",
    "kernel.clone_namespace": "A namespace cannot be made by clone.",
    "kernel.clone3_namespace": "A namespace cannot be made by clone3.",
    "kernel.host_name": "The host's name cannot be set.",
    "kernel.swap": "Swap files cannot be switched on.",
    "kernel.reboot": "The machine cannot be restarted.",
    "kernel.load_module": "No kernel module can be loaded.",
    "kernel.exchange_kernel": "The kernel cannot be exchanged.",
    "kernel.log": "The kernel's log cannot be read.",
    "kernel.ports": "Ports of the hardware cannot be opened.",
    "kernel.foreign_calls": "System calls of another architecture are no way around a filter.",
    "kernel.set_user_bit": "The set-user-id bit cannot be set.",
    "kernel.set_user_program": "Programs with the set-user-id bit give no rights.",
    "kernel.capabilities": "The command holds no capabilities.",
}
_SETTINGS: Final = {
    "settings.core_pattern": "The program that core files go to cannot be set.",
    "settings.system_request": "The kernel's emergency keys cannot be pressed.",
    "settings.memory": "Settings of the memory cannot be changed.",
    "settings.network": "Settings of the network cannot be changed.",
    "settings.interrupts": "Settings of interrupts cannot be changed.",
    "settings.modules": "Parameters of kernel modules cannot be changed.",
    "settings.devices": "Events of devices cannot be made.",
    "settings.tracing": "Tracing of the kernel cannot be set up.",
    "settings.control_groups": "Processes cannot be moved to another control group.",
    "settings.program_formats": "No program format can be added.",
    "settings.of_host_process": "Settings of a process outside cannot be changed.",
}
_DEVICES: Final = {
    "devices.kernel_log": "The kernel's log cannot be opened as a device.",
    "devices.disks": "No disk can be opened.",
    "devices.memory": "The machine's memory cannot be opened.",
    "devices.others": "No other device of the host can be opened.",
    "devices.make_character": "A device cannot be made and opened.",
    "devices.make_disk": "A disk's device cannot be made and opened.",
}
_TERMINALS: Final = {
    "terminal.others": "Nothing can be written to another terminal of the user.",
}

ISOLATION: Final[tuple[Probe, ...]] = (
    *attacks("credentials", _OTHERS_SECRETS, None, "secret", BOTH),
    *attacks("processes", _OTHERS, None, modes=BOTH),
    *attacks("processes", _PROCESSES, "pids"),
    *attacks("processes", _DESCRIPTORS, None),
    *attacks("processes", _DESCRIPTORS_OUT, None, "files", BOTH),
    *attacks("credentials", _KEYS, "seccomp", "secret"),
    *attacks("credentials", _SHARED, "ipc", "secret"),
    *attacks("network", _NETWORK, "network", "message", BOTH),
    *attacks("network", _WAYS, "network"),
    *attacks("network", _RAW, "seccomp", modes=_ALWAYS),
    *attacks("network", _UNIX, "unix_sockets", "message", _ALWAYS),
    *attacks("network", _ABSTRACT, "unix_sockets", "message", BOTH),
    *attacks("network", _BESIDE_DOOR, "door", "message", _DOOR),
    *attacks(
        "network",
        {"door.service": "Beside the managed proxy no service is in reach."},
        *("unix_sockets", "message", _DOOR),
    ),
    *attacks("kernel", _KERNEL, "seccomp"),
    *attacks("kernel", _SETTINGS, "proc_sys", modes=BOTH),
    *attacks("kernel", _DEVICES, "filesystem"),
    *attacks("processes", _TERMINALS, "ipc", "message"),
)
