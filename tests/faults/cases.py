"""Faults injected around the C compiler, the cache, files and processes, and what comes of them.

A case sets a fault up in a folder of its own, and says what the user sees. Afterwards the fault is
taken away, and the same request has to succeed from what is left.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import polyopt as po
from polyopt.errors import PolyoptError
from polyopt.runtime.cache import ENTRY, LIBRARY, KernelCache
from polyopt.runtime.kernel import compile_kernel
from polyopt.runtime.toolchain import find_toolchain
from tests.unit.runtime.programs import BLUR, blur

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
FINE = "nothing to see: the kernel runs"


@dataclass(frozen=True)
class Case:
    """A fault by name, with what has to stand in what the user sees."""

    name: str
    says: str
    run: Callable[[Path], str]


def works(folder: Path) -> bool:
    """Whether the kernel compiles and runs with this cache, and nothing half-written is in it."""
    kernel = compile_kernel(blur(), BLUR.context, openmp=False, cache=folder / "cache")
    right = kernel(np.full((2, 3), 6, np.uint16)).tolist() == [[6], [6]]
    left = [p.name for p in (folder / "cache").glob(".build-*")]
    return right and not left


def seen(folder: Path, *, cc: str | None = None) -> str:
    """The first line of what the user is told."""
    try:
        kernel = compile_kernel(blur(), BLUR.context, cc=cc, openmp=False, cache=folder / "cache")
        kernel(np.full((2, 3), 6, np.uint16))
    except PolyoptError as error:
        return first_line(str(error), folder)
    return FINE


def first_line(text: str, folder: Path) -> str:
    """The first line without the folder's name."""
    return text.splitlines()[0].replace(str(folder), "DIR")


def compiler(folder: Path, body: str) -> str:
    """A compiler that does something else when it is given a kernel."""
    real = find_toolchain().command[0]
    path = folder / "cc"
    path.write_text(
        f'#!/bin/sh\nfor last; do case "$previous" in -o) out="$last";; esac; previous="$last"; done\n'
        f'case "$*" in *kernel.c*) {body};; esac\nexec {real} "$@"\n'
    )
    path.chmod(0o755)
    return str(path)


def _with_compiler(body: str) -> Callable[[Path], str]:
    return lambda folder: seen(folder, cc=compiler(folder, body))


def _missing(folder: Path) -> str:
    return seen(folder, cc="no-such-compiler")


def _hangs(folder: Path) -> str:
    """The compiler's own child goes as well."""
    number = folder / "child"
    cc = compiler(folder, f"sleep 3600 & echo $! > {number}; wait")
    os.environ["POLYOPT_CC_TIMEOUT"] = "0.5"
    try:
        told = seen(folder, cc=cc)
    finally:
        del os.environ["POLYOPT_CC_TIMEOUT"]
    return told if not is_running(int(number.read_text())) else "a child of it still runs"


def is_running(number: int) -> bool:
    """Whether a process is there, and no zombie."""
    for _ in range(500):
        try:
            state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return False
        if state == "Z":
            return False
        time.sleep(0.02)
    return True


def python(folder: Path, text: str, **options: object) -> subprocess.Popen[str]:
    """A process with the fault's folder as ``folder``."""
    head = (
        "import pathlib, sys\n"
        "from tests.faults.cases import *\n"
        # shells start what runs in the background with Ctrl-C ignored
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"folder = pathlib.Path({str(folder)!r})\n"
    )
    return subprocess.Popen(
        # -B: what Python compiles on a full disk it would keep cut short, for all that come later
        [sys.executable, "-B", "-c", head + text],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,  # type: ignore[arg-type]
    )


def _full_disk(folder: Path) -> str:
    """No file may grow beyond a few bytes."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))

    running = python(folder, "print(seen(folder))", preexec_fn=limit)
    out, err = running.communicate()
    return out.strip() or err.strip().splitlines()[-1]


def _no_cache(folder: Path) -> str:
    (folder / "cache").write_text("a file")
    told = seen(folder)
    (folder / "cache").unlink()
    return told


def _read_only(folder: Path) -> str:
    try:
        compile_kernel(blur(), BLUR.context, openmp=False, cache="/proc/polyopt")
    except PolyoptError as error:
        return first_line(str(error), folder)
    return FINE


def _cache_read_only(*, full: bool) -> Callable[[Path], str]:
    """A cache that nothing can be added to: what it holds is used all the same."""

    def run(folder: Path) -> str:
        cache = folder / "cache"
        assert not full or works(folder)
        cache.mkdir(mode=0o700, exist_ok=True)
        cache.chmod(0o500)
        running = python(folder, "without_powers()\nprint(seen(folder))")
        out, err = running.communicate()
        cache.chmod(0o700)
        return out.strip() or err.strip().splitlines()[-1]

    return run


def without_powers() -> None:
    """Let permissions hold for this process though root runs it."""
    import ctypes

    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # version 3 of what capset takes; this process
    if ctypes.CDLL(None).capset(header, (ctypes.c_uint32 * 6)()):
        raise OSError("capset failed")


def _of_another(folder: Path) -> str:
    cache = folder / "cache"
    if os.geteuid():
        cache.symlink_to("/")  # who is not root owns no other directory to give away
    else:
        cache.mkdir(mode=0o700)
        os.chown(cache, 65534, -1)
    told = seen(folder)
    if cache.is_symlink():
        cache.unlink()
    else:
        os.chown(cache, os.geteuid(), -1)
    return told


def _open_to(mode: int) -> Callable[[Path], str]:
    def run(folder: Path) -> str:
        (folder / "cache").mkdir(mode=0o700)
        (folder / "cache").chmod(mode)
        told = seen(folder)
        (folder / "cache").chmod(0o700)
        return told

    return run


def _entry(change: Callable[[Path, Path], None]) -> Callable[[Path], str]:
    """A fault in what the cache already holds."""

    def run(folder: Path) -> str:
        assert works(folder)
        (entry,) = KernelCache(folder / "cache").list()
        change(entry.path, folder)
        return seen(folder)

    return run


def _truncated(entry: Path, folder: Path) -> None:
    del folder
    library = entry / LIBRARY
    data = library.read_bytes()
    library.unlink()  # what is loaded stays as it is
    library.write_bytes(data[: len(data) // 2])


def _replaced(entry: Path, folder: Path) -> None:
    """Code of someone else's: it would leave a file."""
    source = folder / "other.c"
    source.write_text(
        "#include <stdio.h>\n__attribute__((constructor)) static void run(void)"
        f'{{ fclose(fopen("{folder}/ran", "w")); }}\n'
    )
    (entry / LIBRARY).unlink()
    subprocess.run(
        [*find_toolchain().command, "-shared", "-fPIC", source, "-o", entry / LIBRARY], check=True
    )


def _replaced_unseen(folder: Path) -> str:
    told = _entry(_replaced)(folder)
    return "someone else's code ran" if (folder / "ran").exists() else told


def _described(entry: Path, folder: Path) -> None:
    del folder
    (entry / ENTRY).write_text('{"sha256": ["__import__"]}')


def _linked(entry: Path, folder: Path) -> None:
    shutil.move(entry, folder / "elsewhere")
    entry.symlink_to(folder / "elsewhere")


def _stopped(number: signal.Signals, text: str = "") -> Callable[[Path], str]:
    """A signal while the compiler runs: of it and of its build nothing is left.

    ``text`` compiles with ``cc``; without it, the main thread does.
    """

    def run(folder: Path) -> str:
        child, temporary = folder / "child", folder / "temporary"
        temporary.mkdir()
        cc = compiler(folder, f': > "$TMPDIR/left.s"; sleep 3600 & echo $! >> {child}; wait')
        running = python(
            folder,
            f"cc = {cc!r}\n{text or _COMPILES}",
            env={**os.environ, "TMPDIR": str(temporary), "POLYOPT_CACHE": str(folder / "cache")},
        )
        wait_for(child)
        running.send_signal(number)
        _, err = running.communicate()
        if number == signal.SIGINT and "KeyboardInterrupt" not in err:
            return f"it went on: {err}"
        children = [int(line) for line in child.read_text().split()]
        if KernelCache(folder / "cache").list():
            return "a half-made entry"
        if number == signal.SIGINT:
            left = [*(folder / "cache").glob(".build-*"), *temporary.iterdir()]
            left += [k for k in children if is_running(k)]
            return f"left: {left}" if left else "interrupted"
        for left in (folder / "cache").glob(".build-*"):  # what no one could tidy is no entry
            os.utime(left, (0, 0))
        for k in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(k, signal.SIGKILL)
        return "killed"

    return run


_COMPILES = "compile_kernel(blur(), BLUR.context, cc=cc, openmp=False, cache=folder / 'cache')"
#: as a network's kernels are compiled
_COMPILES_MANY = """
from polyopt.runtime.processes import helpers, result_of
from tests.unit.runtime.programs import program
def compiled(number):
    text = f"out[0][0] = {number};\\n    return 0;\\n"
    compile_kernel(program(BLUR, text), BLUR.context, cc=cc, openmp=False, cache=folder / 'cache')
with helpers(3) as pool:
    for future in [pool.submit(compiled, number) for number in range(9)]:
        result_of(future)
"""


def wait_for(file: Path) -> None:
    """Until something has written a line there."""
    for _ in range(3000):
        if file.exists() and file.read_text().endswith("\n"):
            return
        time.sleep(0.02)


#: how many moments a program is interrupted at
_MOMENTS = 12
#: Python that goes on in a process for each moment, and ends there
_AT_MOMENTS = """
import threading
def press(after):
    time.sleep(after)
    while True:  # Python loses an interrupt that comes in a callback of its garbage collector
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(2)
def interrupt(is_well=lambda: True):
    for after in moments:
        child = os.fork()
        if not child:
            signal.alarm(60)  # an interrupt that is lost fails the test, and does not hold it up
            threading.Thread(target=press, args=(after,), daemon=True).start()
            return
        _, status = os.waitpid(child, 0)
        ended = os.waitstatus_to_exitcode(status) == -signal.SIGINT
        print("well" if ended and is_well() else status, flush=True)
    sys.exit()
"""


def _interrupted(folder: Path, text: str, step: float) -> str:
    """What comes of Ctrl-C at each of many moments after ``text`` calls ``interrupt``.

    The processes are forked from one: all have imported what they need.
    """
    moments = [step * moment for moment in range(_MOMENTS)]
    out, err = python(folder, f"moments = {moments}\n{_AT_MOMENTS}{text}").communicate()
    seen = out.split("\n")[:-1]
    return "interrupted" if seen == ["well"] * _MOMENTS else f"{seen}: {err}"


def _early(folder: Path) -> str:
    """Ctrl-C at many moments around a compiler's start: none of them goes on."""
    log = folder / "children"
    cc = compiler(folder, f"echo $$ >> {log}; exec sleep 3600")
    text = (
        f"toolchain = find_toolchain({cc!r})\n"
        "interrupt()\n"
        "toolchain.compile_library(folder / 'kernel.c', folder / 'kernel.so', ())\n"
    )
    told = _interrupted(folder, text, 1 / 1000)
    children = [int(line) for line in log.read_text().split()] if log.exists() else []
    running = [k for k in children if is_running(k)]
    return f"they run: {running}" if running else told


def _command_as_compiler(folder: Path) -> str:
    told = seen(folder, cc=f"cc; : > {folder}/ran;")
    return "a command ran" if (folder / "ran").exists() else told


def _code_as_name(folder: Path) -> str:
    """What a kernel is called is in its C, in its directory and in its key."""
    scop = po.parse_c("void f(int N, float a[N]) { for (int i = 0; i < N; i++) a[i] = i; }")
    evil = (
        f'x(void) {{ }} __attribute__((constructor)) void r(void) {{ fopen("{folder}/ran", "w"); }}'
    )
    for name in (evil, "../../../ran", "*/ #include </etc/passwd> /*"):
        program = po.Plan(scop).emit(name=name)
        kernel = compile_kernel(program, scop.context, openmp=False, cache=folder / "cache")
        assert kernel(a=np.zeros(3, np.float32)).tolist() == [0, 1, 2]
    entries = {entry.path.parent for entry in KernelCache(folder / "cache").list()}
    outside = (folder / "ran").exists() or entries != {folder / "cache"}
    return "a name is more than a name" if outside else FINE


def _model(weights: str | None) -> Callable[[Path], str]:
    """A network whose weights are somewhere else, or one that is none."""

    def run(folder: Path) -> str:
        from onnx import TensorProto, helper

        from polyopt.graph import load_onnx

        (folder / "secret").write_bytes(bytes(16))
        (folder / "models").mkdir()
        path = folder / "models" / "net.onnx"
        value = TensorProto(
            name="w", data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL
        )
        value.external_data.add(key="location", value=weights or "")
        ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"]
        node = helper.make_node("Add", ["x", "w"], ["y"])
        graph = helper.make_graph([node], "net", ends[:1], ends[1:], initializer=[value])
        data = helper.make_model(graph).SerializeToString()
        path.write_bytes(data if weights is not None else b"import os; os.abort()")
        try:
            load_onnx(path)
        except PolyoptError as error:
            return " ".join(str(error).replace(str(folder), "DIR").split())
        return FINE

    return run


def _plan_file(document: object) -> Callable[[Path], str]:
    def run(folder: Path) -> str:
        scop = po.parse_c("void f(int N, float a[N]) { for (int i = 0; i < N; i++) a[i] = i; }")
        path = folder / "plan.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        try:
            po.Plan.load(path, scop)
        except PolyoptError as error:
            return first_line(str(error), folder)
        return FINE

    return run


def _save_on_full_disk(folder: Path) -> str:
    """The plan that was there before stays."""
    path = folder / "plan.json"
    path.write_text("the old plan")

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))

    running = python(
        folder,
        "scop = po.parse_c('void f(int N, float a[N]) { for (int i = 0; i < N; i++) a[i] = i; }')\n"
        "try: po.Plan(scop).save(folder / 'plan.json')\n"
        "except PolyoptError as error: print(first_line(str(error), folder))\n",
        preexec_fn=limit,
    )
    out, err = running.communicate()
    if path.read_text() != "the old plan" or len(list(folder.iterdir())) != 1:
        return "the old plan is lost"
    return out.strip() or err


def _interrupted_saves(folder: Path) -> str:
    """Ctrl-C at many moments while plans are written: the file is whole, and alone."""
    text = (
        "scop = po.parse_c('void f(int N, float a[N]) { for (int i = 0; i < N; i++) a[i] = i; }')\n"
        "plan = po.Plan(scop).tile('a', i=4)\n"
        "plan.save(folder / 'plan.json')\n"
        "interrupt(lambda: po.Plan.load(folder / 'plan.json', scop).script == plan.script)\n"
        "while True: plan.save(folder / 'plan.json')\n"
    )
    told = _interrupted(folder, text, 1 / 3000)
    left = [p.name for p in folder.iterdir() if p.name != "plan.json"]
    return f"left: {left}" if left else told


def _fork_after_threads(folder: Path) -> str:
    running = python(
        folder,
        """
import multiprocessing as mp
text = 'void f(int N, float a[N]) { for (int i = 0; i < N; i++) a[i] = i; }'
kernel = po.Plan(po.parse_c(text)).parallelize('a.i').compile(cache=folder / 'cache')
a = np.empty(1 << 20, np.float32)
def run(queue=None):
    kernel(a=a, threads=2)
    if queue: queue.put(float(a.sum()))
run()
context = mp.get_context('fork')
queue = context.Queue()
children = [context.Process(target=run, args=(queue,)) for _ in range(4)]
[c.start() for c in children]
print(len({queue.get(timeout=20) for _ in children}))
[c.join(20) for c in children]
""",
    )
    try:
        out, err = running.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        running.kill()
        return "the children wait for ever"
    return FINE if out.strip() == "1" else err.strip().splitlines()[-1]


CASES = (
    Case("no compiler of that name", "was not found", _missing),
    Case("the compiler crashes", "the C compiler failed", _with_compiler("kill -SEGV $$")),
    Case("the compiler hangs", "did not finish within 0.5 s", _hangs),
    Case("the compiler makes nothing", "could not be stored", _with_compiler("exit 0")),
    Case("the compiler makes garbage", "is no library",
         _with_compiler('echo garbage > "$out"; exit 0')),
    Case("the compiler makes half a library", "is no library", _with_compiler(
        f'{find_toolchain().command[0]} "$@"; head -c 900 "$out" > "$out.half";'
        ' mv "$out.half" "$out"; exit 0')),
    Case("the compiler makes another library", "has no function", _with_compiler(
        f'echo "int other;" | {find_toolchain().command[0]} -shared -fPIC -x c - -o "$out"; exit 0')),
    Case("no room on the disk", "could not be stored", _full_disk),
    Case("a file where the cache should be", "cannot be made", _no_cache),
    Case("a file system that cannot be written", "cannot be made", _read_only),
    Case("a cache that cannot be written", "cannot be written", _cache_read_only(full=False)),
    Case("a cache that cannot be written, and holds the kernel", FINE, _cache_read_only(full=True)),
    Case("a cache of another user", "belongs to another user", _of_another),
    Case("a cache that everyone can write", "can be written by everyone", _open_to(0o777)),
    Case("a cache that its group can write", "can be written by its group", _open_to(0o770)),
    Case("a truncated library in the cache", FINE, _entry(_truncated)),
    Case("someone else's library in the cache", FINE, _replaced_unseen),
    Case("someone else's description in the cache", FINE, _entry(_described)),
    Case("an entry that is a link", FINE, _entry(_linked)),
    Case("Ctrl-C while the compiler runs", "interrupted", _stopped(signal.SIGINT)),
    Case("Ctrl-C while threads compile", "interrupted", _stopped(signal.SIGINT, _COMPILES_MANY)),
    Case("Ctrl-C around the compiler's start", "interrupted", _early),
    Case("the process is killed while the compiler runs", "killed", _stopped(signal.SIGKILL)),
    Case("Ctrl-C while plans are saved", "interrupted", _interrupted_saves),
    Case("a command in the compiler's name", "was not found", _command_as_compiler),
    Case("code and paths in a kernel's name", FINE, _code_as_name),
    Case("a model that is none", "is no ONNX model", _model(None)),
    Case("a model whose weights are a file above it", "points outside", _model("../secret")),
    Case("a model whose weights are a file of the system", "relative path", _model("/etc/passwd")),
    Case("a saved plan that is no JSON", "is not a saved plan", _plan_file("import os")),
    Case("a saved plan with a move that is none", "no move is called '__class__'",
         _plan_file({"format": 2, "moves": [{"move": "__class__", "args": [], "options": {}}]})),
    Case("a saved plan that would write a file", "no move is called 'save'",
         _plan_file({"format": 2, "moves": [{"move": "save", "args": ["x"], "options": {}}]})),
    Case("a saved plan with strange arguments", "is known by its name", _plan_file(
        {"format": 2, "moves": [{"move": "tile", "args": [["out"]], "options": {"y": "4"}}]})),
    Case("no room on the disk for a plan", "cannot be written", _save_on_full_disk),
    Case("a fork after kernels ran on threads", FINE, _fork_after_threads),
)  # fmt: skip
