"""The files of the project that an object's code is in: its module and what that imports. Nothing is run.

A stored conversation is with the code of its time. A digest of that code shows whether it is still the same.
What code reads while it runs (a file, a database, a service) is not seen here.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ..errors import TargetStartError
from ..files import read_file
from ..source_trees import source_tree
from .loading import parse_reference

_INSTALLED = frozenset({"site-packages", "dist-packages"})
_OWN_PACKAGE = __name__.partition(".")[0]
_DYNAMIC = frozenset({"import_module", "__import__"})


def code_digest(references: Iterable[str], root: Path) -> str:
    """32 hex digits of the content of all files that these objects depend on; empty if none was found.

    `references` are as in settings, `path/file.py:object` or `package.module:object`. Files below
    `root`, or in the folder of the object's own package, count: what is installed is not the project's.
    """
    root = root.resolve()
    files: dict[Path, str] = {}
    for reference in references:
        _Search(root, files).add(reference)
    if not files:
        return ""
    lines = sorted(f"{_name(file, root)} {digest}" for file, digest in files.items())
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _name(file: Path, root: Path) -> str:
    """Below the root, the same on every machine."""
    return file.relative_to(root).as_posix() if root in file.parents else file.name


@dataclass(frozen=True)
class _Import:
    """What one statement may import: a dotted name, `level` dots up from the module's own package."""

    name: str
    level: int = 0


class _Search:
    """Follows imports from one object; `files` collects a digest for each file."""

    def __init__(self, root: Path, files: dict[Path, str]) -> None:
        self._root = root
        self._files = files
        self._roots = [root]
        self._folders = [root, root / "src"]
        # What an editable install, PYTHONPATH or pytest's own settings make importable.
        self._folders += [
            folder for entry in sys.path if entry and root in (folder := Path(entry).resolve()).parents
        ]

    def add(self, reference: str) -> None:
        try:
            parsed = parse_reference(reference)
        except TargetStartError:
            return  # reported where the target is built
        if parsed.is_file:
            file = (self._root / parsed.module).resolve()
            # As when it is loaded: its package's folder comes first, wherever that is.
            top = _top_folder(file)
            self._folders.insert(0, top)
            self._roots.append(top)
            found = [file]
        else:
            found = list(self._find(parsed.module))
        self._follow(found)

    def _follow(self, todo: list[Path]) -> None:
        while todo:
            file = todo.pop()
            if file in self._files or not self._is_ours(file) or not file.is_file():
                continue
            stat = file.stat()
            self._files[file], imports = _read(file, stat.st_mtime_ns, stat.st_size)
            # Importing a module runs the packages that it is in.
            todo += _packages_of(file)
            for one in imports:
                todo += self._resolved(one, file)

    def _resolved(self, found: _Import, file: Path) -> Iterable[Path]:
        if not found.level:
            return self._find(found.name)
        folder = file.parent
        for _ in range(found.level - 1):
            folder = folder.parent
        return _below(folder, found.name.split(".") if found.name else ())

    def _find(self, name: str) -> Iterable[Path]:
        parts = name.split(".")
        if parts[0] == _OWN_PACKAGE:
            return ()
        for folder in self._folders:
            if files := list(_below(folder, parts)):
                return files
        return _by_finders(parts)

    def _is_ours(self, file: Path) -> bool:
        for root in self._roots:
            if root in file.parents:
                return not _INSTALLED.intersection(file.relative_to(root).parts)
        return False


def _by_finders(parts: Sequence[str]) -> Iterable[Path]:
    """Where Python's own finders see the first name: those of editable installs know folders of their own."""
    # Asking the finders for each of them would be slow, and they are never the project's.
    if parts[0] in sys.stdlib_module_names:
        return ()
    try:
        spec = importlib.util.find_spec(parts[0])
    except Exception:  # noqa: BLE001 - finders are other people's code, and may refuse any name
        return ()
    if spec is None:
        return ()
    if spec.submodule_search_locations:
        places = [Path(place).resolve() for place in spec.submodule_search_locations]
        return [file for place in places for file in _below(place.parent, (place.name, *parts[1:]))]
    return [Path(spec.origin).resolve()] if spec.origin and spec.has_location else ()


def _below(folder: Path, parts: Sequence[str]) -> Iterator[Path]:
    """The files that importing a dotted name runs, as far as it leads to modules below the folder."""
    for part in parts:
        package = folder / part / "__init__.py"
        if package.is_file():
            yield package
        elif not (folder / part).is_dir():
            # The rest are names in the module.
            if (module := folder / f"{part}.py").is_file():
                yield module
            return
        folder = folder / part


def _top_folder(file: Path) -> Path:
    """The folder that a file's absolute imports start from: the first above it that isn't a package."""
    folder = file.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder


def _packages_of(file: Path) -> Iterator[Path]:
    folder = file.parent
    while (init := folder / "__init__.py").is_file():
        yield init
        folder = folder.parent


@lru_cache(maxsize=4096)
def _read(file: Path, _changed: int, _size: int) -> tuple[str, tuple[_Import, ...]]:
    """A digest of a file's content and what it imports; cached, since a run plans its rows several times."""
    # Git may check a file out with other line ends; that is not another agent.
    content = read_file(file).replace(b"\r\n", b"\n")
    try:
        imports = tuple(_imports(source_tree(content)))
    except (SyntaxError, ValueError, RecursionError):
        imports = ()  # reported where the module is imported
    return hashlib.sha256(content).hexdigest(), imports


def _imports(tree: ast.Module) -> Iterator[_Import]:
    """All imports of a module, those inside functions too: they run sooner or later."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (_Import(alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield _Import(node.module or "", node.level)
            # `from package import name`: the name may be a module.
            names = (f"{node.module}.{alias.name}" if node.module else alias.name for alias in node.names)
            yield from (_Import(name, node.level) for name in names)
        elif isinstance(node, ast.Call):
            yield from _dynamic(node)


def _dynamic(call: ast.Call) -> Iterator[_Import]:
    """`import_module("agents.shop")`, as far as the name is written down."""
    function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    first = call.args[0] if call.args else None
    if function in _DYNAMIC and isinstance(first, ast.Constant) and isinstance(first.value, str):
        name = first.value.lstrip(".")
        yield _Import(name, len(first.value) - len(name))
