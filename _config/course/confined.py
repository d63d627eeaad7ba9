"""Confine this process: no file but Python's own, no network, no other process, and limits."""

import ctypes
import os
import struct
import sys
import sysconfig
from pathlib import Path
from typing import Any

NOBODY = 65534
GIGABYTE = 1 << 30
READ_FILE, READ_FOLDER = 1 << 2, 1 << 3
WRITE = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 14  # and remove, make folders and files
SYSTEM = ("/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime", "/dev/urandom")
SYSTEM += ("/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu")
# Events of Python that no answer needs.
SENDS = "socket.connect", "socket.bind", "socket.send", "socket.get"
STARTS = "subprocess.Popen", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.kill"
READS = ("open", "os.listdir", "os.scandir")


def confine(folder: str, package: str, seconds: int) -> list[str]:
    """Confine this process, which may write in its folder alone; return what is not confined."""
    if not sys.platform.startswith("linux"):
        return [f"on {sys.platform}, answers run with a time limit, but are not confined"]
    libc = ctypes.CDLL(None, use_errno=True)
    own = {sys.prefix, sys.base_prefix, sysconfig.get_path("stdlib"), package}
    lacking = [] if offline(libc) else ["the network: only Python's own sockets are forbidden"]
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
        become_nobody(libc, all(map(may_pass, own)))
    limit(seconds)
    if not landlock(libc, folder, sorted(own)):
        lacking.append("files: this kernel has no Landlock")
    return [f"not confined: {what}" for what in lacking]


def offline(libc: Any) -> bool:
    """Leave the network, as root or in a namespace of users; return whether that worked."""
    users, network = 0x10000000, 0x40000000
    return not libc.unshare(network) or not libc.unshare(users | network)


def become_nobody(libc: Any, may_read: bool) -> None:
    """Change to the user who owns nothing, and who keeps the right to read where Python needs it."""
    keep_rights, read = 8, 1 << 2
    libc.prctl(keep_rights, 1, 0, 0, 0)
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    right = 0 if may_read else read
    libc.capset(struct.pack("Ii", 0x20080522, 0), struct.pack("6I", right, right, 0, 0, 0, 0))


def may_pass(path: str) -> bool:
    """Tell whether every user may pass through the folders of a path."""
    whole = Path(path).resolve()
    return all(folder.stat().st_mode & 1 for folder in [whole, *whole.parents])


def limit(seconds: int) -> None:
    """Limit time, memory and the size of a file; no other process or thread may begin."""
    import resource

    limits = {"CPU": seconds, "DATA": 4 * GIGABYTE, "FSIZE": GIGABYTE // 64, "NPROC": 0, "CORE": 0}
    for name, most in limits.items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))


def landlock(libc: Any, folder: str, readable: list[str]) -> bool:
    """Forbid all files but these, and TCP; return whether the kernel can.

    Source: https://docs.kernel.org/userspace-api/landlock.html
    """
    version = libc.syscall(444, None, 0, 1)
    if version < 1:
        return False
    files = (1 << (13, 14, 15, 15, 16)[min(version, 5) - 1]) - 1
    rules = struct.pack("QQQ", files, 3, 3)[: 8 if version < 4 else 16 if version < 6 else 24]
    ruleset = libc.syscall(444, rules, len(rules), 0)
    allowed = dict.fromkeys([*readable, *SYSTEM], READ_FILE | READ_FOLDER)
    allowed |= {folder: READ_FILE | READ_FOLDER | WRITE, "/dev/null": READ_FILE | 1 << 1}
    for path, rights in allowed.items():
        if not os.path.exists(path):
            continue
        at = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rights &= files if os.path.isdir(path) else files & ~READ_FOLDER
        libc.syscall(445, ruleset, 1, struct.pack("=Qi", rights, at), 0)
        os.close(at)
    no_new_rights = libc.prctl(38, 1, 0, 0, 0)
    return not (no_new_rights or libc.syscall(446, ruleset, 0))


def watch(notes: list[str], folder: str, package: str) -> None:
    """Refuse events of Python that no answer needs, and note what was tried.

    The kernel is the one that confines; this names the attempt, and helps where it cannot.
    """
    own = {folder, package, sys.prefix, sys.base_prefix, sysconfig.get_path("stdlib"), *SYSTEM}
    roots = tuple({os.path.realpath(path) for path in own} | own | {"/proc", "/sys", "/dev", "<"})

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        refused = event.startswith(SENDS + STARTS)
        what = event
        if event in READS and arguments and isinstance(arguments[0], str | bytes | os.PathLike):
            path = os.path.abspath(os.fsdecode(arguments[0]))
            refused, what = not path.startswith(roots), f"{event} {path}"
        if refused:
            if event != "subprocess.Popen":  # which a library may try, as for its fonts
                notes.append(f"tried {what}")
            raise PermissionError(f"an answer may not do this: {what}")

    sys.addaudithook(hook)
