"""From `package.module:object` or `path/file.py:object` to the object.

A file inside a package (a folder with an `__init__.py`) is imported under its dotted name, a lone file
under a name of our own that can't collide with anything. While the import runs, the folder that
`import tools` would be looked for in stands first in `sys.path`; afterwards `sys.path` is as before.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Generic, TypeVar

from ..errors import TargetStartError
from ..project_code.calls import ThreadCall, outcome
from ..suggest import did_you_mean
from ..threads import Call, start_call
from .failures import start_failure

T = TypeVar("T")

# Re-entrant: a module that is being loaded may load another one the same way.
_LOCK = threading.RLock()

_WRITE = "write `package.module:object` or `path/file.py:object`"
_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


@dataclass(frozen=True)
class Reference:
    """Where an object is: a dotted module or a file, and the dotted path of the object in it."""

    module: str
    attribute: str

    @property
    def is_file(self) -> bool:
        return self.module.endswith(".py") or "/" in self.module or "\\" in self.module

    def __str__(self) -> str:
        return f"{self.module}:{self.attribute}"


def parse_reference(text: str) -> Reference:
    """Raises `TargetStartError` for a text that is not a reference; nothing is imported."""
    module, colon, attribute = text.strip().rpartition(":")
    if not colon or not module or not attribute:
        raise TargetStartError(f"`{text}` names no object: {_WRITE}")
    reference = Reference(module, attribute)
    if not _DOTTED.fullmatch(attribute):
        raise TargetStartError(f"`{text}`: `{attribute}` is not the name of an object: {_WRITE}")
    if not reference.is_file and not _DOTTED.fullmatch(module):
        raise TargetStartError(f"`{text}`: `{module}` is neither a module nor a .py file: {_WRITE}")
    return reference


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
            return importlib.import_module(reference.module)
    file = (rootdir / reference.module).resolve()
    if not file.is_file():
        raise TargetStartError(f"`{reference}`: there is no file {file}")
    top, dotted = _package_of(file)
    with _first_in_path(top):
        return _lone(file) if dotted is None else _packaged(file, dotted)


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
    """What `make` gives, made once in a thread of its own, however many ask for it.

    A `TargetStartError` is kept too: the user's module isn't imported a hundred times to fail.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._call: Call[T | TargetStartError] | None = None
        self.value: T | None = None

    async def get(self) -> T:
        """Raises `TargetStartError`, a new one for each who asks."""
        if self._call is None:
            self._call = start_call(self._outcome)
        # Who is cancelled meanwhile stops waiting; the others still want the object.
        made = await outcome(ThreadCall(self._call, shared=True))
        if isinstance(made, TargetStartError):
            raise TargetStartError(str(made), trace=made.trace)
        self.value = made
        return made

    def _outcome(self) -> T | TargetStartError:
        try:
            return self._make()
        except TargetStartError as error:
            return error
