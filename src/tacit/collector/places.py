"""Where an archive lies: a local folder, or any URL that fsspec opens.

A file is there whole or not at all. In a folder it is written under another name, flushed to the disk and then renamed;
to a URL it is put whole. Names are relative and use `/`.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     place = open_place(folder)
...     place.write("study=tea/part-1.parquet", b"reports")
...     list(place.names()), place.has("study=tea/part-2.parquet")
(['study=tea/part-1.parquet'], False)
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Protocol

from tacit.errors import TacitError

PIECE = 1 << 20


class Place(Protocol):
    """What the archive needs. Troubles are `archive_unusable`, a file that is not there `archive_damaged`."""

    @property
    def url(self) -> str:
        """Where it is, for another process on this machine too."""

    def names(self) -> Iterator[str]:
        """All files below it, unfinished ones too."""

    def read(self, name: str) -> IO[bytes]:
        """A file to be read and closed; it stays readable when it is removed meanwhile."""

    def has(self, name: str) -> bool:
        """Whether a file is there."""

    def write(self, name: str, data: bytes) -> None:
        """Make a file, whole or not at all."""

    def remove(self, name: str) -> None:
        """Remove a file; one that is not there stays away."""


def open_place(where: str | os.PathLike[str]) -> Place:
    """The place at a path, or at a URL such as s3://bucket/folder. Nothing is made or looked at yet."""
    text = os.fspath(where)
    scheme, found, rest = text.partition("://")
    if found and scheme != "file":
        return Remote(text)
    return Folder(Path(rest if found else text).absolute())


class Folder:
    """A local folder. Only the user of the collector reads what is made in it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.url = str(root)

    def names(self) -> Iterator[str]:
        with _explained(self.url):
            found = [path for path in self._root.rglob("*") if path.is_file()]
        yield from (path.relative_to(self._root).as_posix() for path in found)

    def read(self, name: str) -> IO[bytes]:
        with _explained(self.url, name):
            return open(self._root / name, "rb")

    def has(self, name: str) -> bool:
        with _explained(self.url):
            return (self._root / name).is_file()

    def write(self, name: str, data: bytes) -> None:
        path = self._root / name
        unfinished = path.with_name(f".{path.name}.tmp")
        with _explained(self.url):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(os.open(unfinished, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(path)
            for folder in (path.parent, *path.parent.parents):
                _flush(folder)
                if folder == self._root:
                    break

    def remove(self, name: str) -> None:
        with _explained(self.url):
            (self._root / name).unlink(missing_ok=True)


def _flush(folder: Path) -> None:
    """Put the names in a folder on disk, where the system can."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Remote:
    """A URL of fsspec; what a store needs to know of its owner comes from the environment, as for any program."""

    def __init__(self, url: str) -> None:
        self.url = url
        with _explained(url):
            try:
                fsspec: Any = import_module("fsspec.core")
                self._files, root = fsspec.url_to_fs(url)
            except ImportError as error:
                raise TacitError(
                    "dependency_missing",
                    f"{error.name or 'the package for this URL'} is not installed ({error})",
                    argument="to",
                    hint="pip install 'tacit[scale]' and the package that fsspec names for the URL",
                ) from None
        self._root = root.rstrip("/")

    def names(self) -> Iterator[str]:
        with _explained(self.url):
            self._files.invalidate_cache()
            found = self._files.find(self._root) if self._files.exists(self._root) else []
        yield from (path.removeprefix(self._root).lstrip("/") for path in found)

    def read(self, name: str) -> IO[bytes]:
        copy = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            with _explained(self.url, name), self._files.open(f"{self._root}/{name}", "rb") as file:
                while piece := file.read(PIECE):
                    copy.write(piece)
        except BaseException:
            copy.close()
            raise
        copy.seek(0)
        return copy

    def has(self, name: str) -> bool:
        with _explained(self.url):
            self._files.invalidate_cache()
            return bool(self._files.exists(f"{self._root}/{name}"))

    def write(self, name: str, data: bytes) -> None:
        path = f"{self._root}/{name}"
        with _explained(self.url):
            self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
            self._files.pipe_file(path, data)

    def remove(self, name: str) -> None:
        with _explained(self.url), suppress(FileNotFoundError):
            self._files.rm_file(f"{self._root}/{name}")


@contextmanager
def _explained(url: str, name: str | None = None) -> Iterator[None]:
    """Troubles of a place as refusals. Its packages raise errors of their own, so all kinds are taken."""
    try:
        yield
    except TacitError:
        raise
    except Exception as error:
        if name is not None and isinstance(error, FileNotFoundError):
            raise damaged(name, "is missing") from None
        raise unusable(f"it cannot be read or written ({type(error).__name__})", url) from None


def unusable(what: str, url: str = "") -> TacitError:
    """The refusal of an archive that is away, or another's."""
    return TacitError(
        "archive_unusable",
        f"the archive{f' {url}' if url else ''}: {what}",
        argument="to",
        hint="nothing is lost: look at the place and who may write there, then run the same again",
    )


def damaged(name: str, what: str) -> TacitError:
    """The refusal of an archive that lacks something."""
    return TacitError(
        "archive_damaged",
        f"{name} {what}",
        argument="archive",
        hint="bring the file back from a copy of the archive; nothing is exported without it",
    )
