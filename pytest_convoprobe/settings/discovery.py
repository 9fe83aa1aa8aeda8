"""Which file the settings come from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import SettingsError
from ..files import read_file, shown_path
from ..yaml_source import Document
from .file_formats import empty, parse_toml, parse_yaml

YAML_NAMES = ("convoprobe.yaml", "convoprobe.yml", ".convoprobe.yaml", ".convoprobe.yml")
OLD_NAMES = ("mcprobe.yaml", "mcprobe.yml")
PYPROJECT = "pyproject.toml"
TABLE = ("tool", "convoprobe")


@dataclass(frozen=True)
class Source:
    """A file and what was read from it; `old` says that it is an mcprobe.yaml."""

    path: Path
    document: Document
    old: bool = False
    notices: tuple[str, ...] = ()


def find_source(rootdir: Path, config_file: Path | None) -> Source | None:
    """The given file, or the first one upwards from the folder `rootdir`, an absolute path, or None.

    The search ends at the top of a version-controlled tree. One folder may have one of our files only;
    an mcprobe.yaml counts when there is none of ours in its folder or nearer.
    """
    if config_file is not None:
        return _read_given(config_file)
    folders = tuple(_upwards(rootdir))
    old = next((path for folder in folders for path in _existing(folder, OLD_NAMES)), None)
    for folder in folders:
        if ours := _ours_in(folder):
            return ours if old is None else _instead_of(old, ours)
        # Nearness comes before the name: one of ours further up may be another project's, with another agent.
        if old is not None and old.parent == folder:
            return _read_yaml(old, old=True)
    return None


def _instead_of(old: Path, ours: Source) -> Source:
    notice = f"{shown_path(old)} is not read, since there is {shown_path(ours.path)}"
    return Source(ours.path, ours.document, notices=(notice,))


def _upwards(rootdir: Path) -> Iterator[Path]:
    for folder in (rootdir, *rootdir.parents):
        yield folder
        # `exists`: in a worktree and in a submodule, `.git` is a file.
        if (folder / ".git").exists():
            return


def _ours_in(folder: Path) -> Source | None:
    found = [_read_yaml(path) for path in _existing(folder, YAML_NAMES)]
    pyproject = _read_pyproject(folder / PYPROJECT)
    sources = [*found, pyproject] if pyproject else found
    if len(sources) > 1:
        names = " and ".join(_name(source) for source in sources)
        raise SettingsError.of(f"{names} both have settings; keep one of them", file=shown_path(folder))
    return sources[0] if sources else None


def _name(source: Source) -> str:
    name = source.path.name
    return f"{name} ([tool.convoprobe])" if name == PYPROJECT else name


def _existing(folder: Path, names: tuple[str, ...]) -> list[Path]:
    # Something of that name that isn't a file is an error of the reader: passed over, it would look absent.
    return [folder / name for name in names if (folder / name).exists() and not (folder / name).is_dir()]


def _read_given(path: Path) -> Source:
    if not path.exists() or path.is_dir():
        what = "is a folder, not a file" if path.is_dir() else "does not exist"
        raise SettingsError.of(f"the settings file {what}", file=shown_path(path))
    if path.suffix == ".toml":
        return _read_pyproject(path) or Source(path, _read_toml_top(path))
    return _read_yaml(path, old=path.name in OLD_NAMES)


def _read_toml_top(path: Path) -> Document:
    """A TOML file without our table: pyproject.toml has no settings, another file is all settings."""
    if path.name == PYPROJECT:
        raise SettingsError.of("there is no [tool.convoprobe] in it", file=shown_path(path))
    return parse_toml(_bytes(path), shown_path(path), ()) or empty(shown_path(path))


def _read_pyproject(path: Path) -> Source | None:
    if not path.is_file():
        return None
    raw = _bytes(path)
    # Parsing every pyproject.toml upwards would report mistakes that aren't about us.
    if b"convoprobe" not in raw:
        return None
    document = parse_toml(raw, shown_path(path), TABLE)
    return Source(path, document) if document else None


def _read_yaml(path: Path, *, old: bool = False) -> Source:
    return Source(path, parse_yaml(_bytes(path), shown_path(path)), old)


def _bytes(path: Path) -> bytes:
    try:
        return read_file(path)
    except OSError as error:
        raise SettingsError.of(f"cannot be read: {error.strerror}", file=shown_path(path)) from None
