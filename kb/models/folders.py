"""Finds sentence-transformers models on this machine's disk, without loading any library."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)?")
_MIB = 1 << 20
_HASHED = frozenset({".json", ".txt", ".model", ".safetensors", ".bin"})
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
_POOLING_KEY = "pooling_mode_"
_DIMENSION_KEYS = ("out_features", "word_embedding_dimension", "embedding_dimension")


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A complete sentence-transformers model on disk.

    Attributes:
        name: The hub name, or the folder's path where it is no hub model.
        folder: Holds `modules.json`.
        revision: Commit of a hub snapshot; None for a plain folder.
    """

    name: str
    folder: Path
    revision: str | None

    @property
    def dimension(self) -> int | None:
        """Length of its vectors as its configuration says, None if it does not."""
        found: int | None = None
        for module in _modules(self.folder):
            settings = _json_object(module / "config.json")
            for key in (*_DIMENSION_KEYS, "hidden_size"):
                value = settings.get(key)
                if isinstance(value, int) and (key != "hidden_size" or found is None):
                    found = value
                    break
        return found

    @property
    def pooling(self) -> str:
        """How token vectors become one: `cls`, `mean` and the like, or `unknown`."""
        for module in _modules(self.folder):
            settings = _json_object(module / "config.json")
            named = settings.get("pooling_mode")
            if isinstance(named, str):
                return named
            for key, is_chosen in settings.items():
                if key.startswith(_POOLING_KEY) and is_chosen is True:
                    return (
                        key.removeprefix(_POOLING_KEY)
                        .removesuffix("_token")
                        .removesuffix("_tokens")
                    )
        return "unknown"

    @property
    def size_bytes(self) -> int:
        """Sum of its files; links into a hub cache are followed."""
        return sum(file.stat().st_size for file in self.folder.rglob("*") if file.is_file())


def is_hub_name(name: str) -> bool:
    """Return whether a name could be one of the Hugging Face hub."""
    return _HUB_NAME.fullmatch(name) is not None


def hub_cache(environment: Mapping[str, str]) -> Path:
    """Return where the Hugging Face libraries keep what they downloaded."""
    for variable in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if environment.get(variable):
            return Path(environment[variable]).expanduser()
    if environment.get("HF_HOME"):
        return Path(environment["HF_HOME"]).expanduser() / "hub"
    if environment.get("XDG_CACHE_HOME"):
        return Path(environment["XDG_CACHE_HOME"]).expanduser() / "huggingface" / "hub"
    return Path("~/.cache/huggingface/hub").expanduser()


def model_at(path: str) -> ModelFolder | None:
    """Return the complete model in a folder, None if there is none."""
    folder = Path(path).expanduser()
    if not path or not folder.is_dir() or what_is_missing(folder):
        return None
    # The absolute path is pinned, so that a collection finds it from any working folder.
    return ModelFolder(str(folder.resolve()), folder.resolve(), None)


def find_model(name: str, *, cache: Path, home: Path | None = None) -> ModelFolder | None:
    """Return a hub model that is complete on this machine: the home's own copy, else the cache's.

    Args:
        name: Such as `BAAI/bge-m3`.
        cache: See `hub_cache`.
        home: Copies lie in `models/BAAI--bge-m3` under it; None to look in the cache only.
    """
    if not is_hub_name(name):
        return None
    if home is not None:
        copy = home / "models" / name.replace("/", "--")
        if not what_is_missing(copy):
            return ModelFolder(name, copy, None)
    return _newest_snapshot(name, cache / f"models--{name.replace('/', '--')}")


def every_model(*, home: Path, cache: Path) -> list[ModelFolder]:
    """Return the complete models of the home and of the hub cache, by name, each once."""
    names = {folder.name.replace("--", "/", 1) for folder in _folders(home / "models")}
    names |= {
        folder.name.removeprefix("models--").replace("--", "/", 1)
        for folder in _folders(cache)
        if folder.name.startswith("models--")
    }
    found = (find_model(name, home=home, cache=cache) for name in sorted(names))
    return [model for model in found if model is not None]


def content_revision(folder: Path) -> str:
    """Return a hash over what decides a model's vectors: its configuration and weights.

    Of each file the size and the first and last MiB are hashed, which tells apart weights
    of gigabytes in milliseconds. Notes and other engines' copies are left out.
    """
    digest = hashlib.sha256()
    modules = {folder, *_modules(folder)}
    for file in sorted(f for module in modules for f in module.glob("*") if f.is_file()):
        if file.suffix not in _HASHED:
            continue
        size_bytes = file.stat().st_size
        digest.update(f"{file.relative_to(folder).as_posix()}\0{size_bytes}\0".encode())
        with file.open("rb") as stream:
            digest.update(stream.read(_MIB))
            if size_bytes > _MIB:
                stream.seek(max(_MIB, size_bytes - _MIB))
                digest.update(stream.read(_MIB))
    return f"sha256:{digest.hexdigest()}"


def what_is_missing(folder: Path) -> str:
    """Return which file keeps a folder from being a sentence-transformers model, or nothing.

    Without `modules.json` the library would guess mean pooling, and without weights fetch
    them: both are refused here.
    """
    if not (folder / "modules.json").is_file():
        return "modules.json"
    modules = _modules(folder)
    if not modules:
        return "a readable modules.json"
    first = modules[0]
    if not any(file.is_file() for pattern in _WEIGHTS for file in first.glob(pattern)):
        return "model.safetensors or pytorch_model.bin"
    if not any((first / file).is_file() for file in ("config.json", "tokenizer.json")):
        return "config.json"
    for module in modules[1:]:
        # Normalize has nothing to configure, and published models leave its folder out.
        if "pooling" in module.name.lower() and not (module / "config.json").is_file():
            return f"{module.name}/config.json"
    return ""


def _newest_snapshot(name: str, repository: Path) -> ModelFolder | None:
    snapshots = {
        folder.name: folder
        for folder in _folders(repository / "snapshots")
        if not what_is_missing(folder)
    }
    if not snapshots:
        return None
    reference = repository / "refs" / "main"
    commit = reference.read_text(encoding="utf-8").strip() if reference.is_file() else ""
    if commit not in snapshots:
        commit = max(snapshots, key=lambda c: (snapshots[c].stat().st_mtime_ns, c))
    return ModelFolder(name, snapshots[commit], commit)


def _folders(parent: Path) -> Iterator[Path]:
    if parent.is_dir():
        yield from sorted(child for child in parent.iterdir() if child.is_dir())


def _modules(folder: Path) -> list[Path]:
    try:
        modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        return [folder / module["path"] for module in modules]
    except (OSError, ValueError, TypeError, KeyError):
        return []


def _json_object(path: Path) -> dict[str, object]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
