"""From `package.module:object` or `path/file.py:object` to the object.

A module exists once: a test that changes `agent.URL` has to change what the target sees. So a file that is
imported already, under whatever name, is used as it is. Otherwise a file inside a package (a folder with an
`__init__.py`) is imported under its dotted name, and so is a lone file that Python's path leads to. Any other
lone file gets a name of our own, which can't collide with anything. While the import runs, the folder that
`import tools` would be looked for in comes first in `sys.path`; afterwards `sys.path` is as before.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import importlib.util
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Generic, TypeVar

from ..errors import TargetStartError
from ..project_code.calls import StartsCalls, ThreadCall, outcome
from ..project_code.last_threads import watched
from ..project_code.references import Reference as Reference
from ..project_code.references import is_dotted, read_reference
from ..suggest import did_you_mean
from ..threads import Call, start_call
from .failures import start_failure

T = TypeVar("T")

# Re-entrant: a module that is being loaded may load another one the same way.
_LOCK = threading.RLock()


def parse_reference(text: str) -> Reference:
    """Raises `TargetStartError` for a text that is not a reference; nothing is imported."""
    try:
        return read_reference(text)
    except ValueError as error:
        raise TargetStartError(str(error)) from None


def load_object(reference: Reference, rootdir: Path) -> object:
    """Import and return it; relative files start from `rootdir`. Blocks; raises `TargetStartError`."""
    with _LOCK:
        try:
            module = _load_module(reference, rootdir)
        except TargetStartError:
            raise
        except ModuleNotFoundError as error:
            raise _not_found(error, reference, rootdir) from None
        except BaseException as error:  # noqa: BLE001 - a module may even call sys.exit() when imported
            raise start_failure(f"can't import `{reference.module}`", error) from None
    return _attribute(module, reference)


def _not_found(error: ModuleNotFoundError, reference: Reference, rootdir: Path) -> TargetStartError:
    """The module itself, or one that it imports."""
    missing = f"{error.name}."
    if reference.is_file or not f"{reference.module}.".startswith(missing):
        return start_failure(f"can't import `{reference.module}`", error)
    return TargetStartError(
        f"can't import `{reference.module}`: there is no module `{error.name}` "
        f"in {rootdir} or on Python's path"
    )


def _load_module(reference: Reference, rootdir: Path) -> ModuleType:
    if not reference.is_file:
        with _first_in_path(rootdir):
            return _dotted(reference.module)
    file = (rootdir / reference.module).resolve()
    if not file.is_file():
        raise TargetStartError(f"`{reference}`: there is no file {file}")
    if (known := _imported(file)) is not None:
        return known
    top, dotted = _package_of(file)
    natural = _natural_name(file) if dotted is None else dotted
    with _first_in_path(top):
        return _lone(file) if natural is None else _packaged(file, natural)


def _dotted(name: str) -> ModuleType:
    """The module of that name; it may have been loaded from its file, under another name."""
    if name not in sys.modules:
        spec = importlib.util.find_spec(name)
        origin = spec.origin if spec is not None and spec.has_location else None
        known = _imported(Path(origin).resolve()) if origin is not None else None
        if known is not None:
            return known
    return importlib.import_module(name)


def _imported(file: Path) -> ModuleType | None:
    """The module that has been imported from this file. One that is being imported is waited for."""
    for name, module in list(sys.modules.items()):
        # By the type: libraries of cffi, as in cryptography, say that they are modules, and are not.
        if issubclass(type(module), ModuleType) and _file_of(module, file.name) == file:
            return importlib.import_module(name)
    return None


def _file_of(module: ModuleType, name: str) -> Path | None:
    """Where a module comes from, if its file has this name."""
    # Asked for in the usual way, a module that loads itself lazily would be loaded.
    found = object.__getattribute__(module, "__dict__").get("__file__")
    if not isinstance(found, str) or not found.endswith(name):
        return None
    return Path(found).resolve()


def _natural_name(file: Path) -> str | None:
    """The name that `import` finds this file by, from the nearest folder in Python's path; or None."""
    folders = {Path(entry or ".").resolve() for entry in sys.path if isinstance(entry, str)}
    for folder in (folder for folder in file.parents if folder in folders):
        parts = file.relative_to(folder).with_suffix("").parts
        name = ".".join(parts)
        if is_dotted(name) and len(parts) == name.count(".") + 1 and _origin(name) == file:
            return name
    return None


def _origin(name: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(name)
    except Exception:  # noqa: BLE001 - finding a module imports the packages around it
        return None
    return Path(spec.origin).resolve() if spec is not None and spec.origin else None


def _package_of(file: Path) -> tuple[Path, str | None]:
    """The folder that this file's imports start from; its dotted name there if it is in a package."""
    parts = [] if file.stem == "__init__" else [file.stem]
    folder = file.parent
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, None if folder == file.parent else ".".join(parts)


def _packaged(file: Path, name: str) -> ModuleType:
    module = importlib.import_module(name)
    found = getattr(module, "__file__", None)
    if found is None or Path(found).resolve() != file:
        raise TargetStartError(f"{file} can't be imported: `{name}` is already {found or 'something else'}")
    return module


def _lone(file: Path) -> ModuleType:
    digest = hashlib.sha256(str(file).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    name = f"_convoprobe_{re.sub(r'[^0-9A-Za-z_]', '_', file.stem)}_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise TargetStartError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and pickle look a class's module up by its name while the file still runs.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


@contextmanager
def _first_in_path(folder: Path) -> Iterator[None]:
    entry = str(folder)
    sys.path.insert(0, entry)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        # The module may have changed sys.path itself: take back our own entry only.
        if entry in sys.path:
            sys.path.remove(entry)


def _attribute(module: ModuleType, reference: Reference) -> object:
    found: object = module
    for name in reference.attribute.split("."):
        if not hasattr(found, name):
            raise TargetStartError(f"`{reference}`: {_missing(found, name)}")
        found = getattr(found, name)
    return found


def _missing(owner: object, name: str) -> str:
    known = [key for key in dir(owner) if not key.startswith("__")]
    return f"there is no `{name}` in {_described(owner)}{did_you_mean(name, known)}"


def _described(owner: object) -> str:
    if isinstance(owner, ModuleType):
        return str(owner.__file__ or owner.__name__)
    return f"`{getattr(owner, '__qualname__', type(owner).__qualname__)}`"


class Once(Generic[T]):
    """What `make` gives, made once in a thread of its own or a given one, however many ask for it.

    A `TargetStartError` is kept too: the user's module isn't imported a hundred times to fail.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._call: Call[T | TargetStartError] | None = None
        self.value: T | None = None

    async def get(self, thread: StartsCalls | None = None) -> T:
        """Raises `TargetStartError`, a new one for each who asks. With `thread`, it is made in that one."""
        # Who is cancelled meanwhile stops waiting; the others still want the object.
        try:
            with watched():  # before it starts: it may start threads of its own at once
                if self._call is None:
                    self._call = thread.start(self._outcome) if thread else start_call(self._outcome)
                made = await outcome(ThreadCall(self._call, shared=thread is None))
        except asyncio.CancelledError:
            if thread:  # somebody else's, where nothing may go on: it was interrupted, and the next one tries
                self._call = None
            raise
        if isinstance(made, TargetStartError):
            raise TargetStartError(str(made), trace=made.trace)
        self.value = made
        return made

    def _outcome(self) -> T | TargetStartError:
        try:
            return self._make()
        except TargetStartError as error:
            return error
