"""Settings of one home: defaults, `kb.toml`, `KB_*` variables and flags, checked once."""

from __future__ import annotations

import dataclasses
import difflib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args, get_origin, get_type_hints

from kb.errors import SettingsError

_RESERVED_VARIABLES = frozenset({"KB_HOME", "KB_FAULT_POINT", "KB_TEST_SCALE"})


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """Which model embeds, and how.

    Attributes:
        model: `auto`, `bundled`, a sentence-transformers name or folder, or `openai:NAME`.
        device: `auto`, `cpu`, `cuda`, `mps`, for sentence-transformers models.
        dtype: `float32`, `bfloat16` or `float16`, for sentence-transformers models.
        base_url: Of an OpenAI-compatible endpoint, for `openai:` models.
        api_key_env: Name of the variable that holds the endpoint's key.
        threads: Threads of the bundled engine; 0 for one per core.
    """

    model: str = "auto"
    device: str = "auto"
    dtype: str = "float32"
    base_url: str = "http://127.0.0.1:11434/v1"
    api_key_env: str = "KB_EMBEDDING_API_KEY"
    threads: int = 0


@dataclass(frozen=True, slots=True)
class ChunkSettings:
    """Sizes in units: 1 per CJK character, 1/3 per other character."""

    target: int = 500
    cap: int = 700
    minimum: int = 100
    overlap: int = 80


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Defaults of a search.

    Attributes:
        min_relevance: Threshold on calibrated relevance, 0..1.
        k: How many results.
    """

    min_relevance: float = 0.35
    k: int = 5


@dataclass(frozen=True, slots=True)
class VectorSettings:
    """Which engine serves vectors.

    Attributes:
        engine: `auto`, `exact` or `chroma`.
        exact_up_to: Chunks of a collection up to which `auto` stays with the exact scan.
    """

    engine: str = "auto"
    exact_up_to: int = 50_000


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """Caps that refuse a file or a request by name.

    Attributes:
        max_file_bytes: Larger files are refused.
        max_zip_members: Of a DOCX, XLSX, EPUB and the like.
        max_zip_ratio: Expanded to packed, for members over 1 MB.
        max_expanded_bytes: Sum of a zip's members.
        max_pages: Of a PDF.
        max_text_characters: Of one document's text.
        parse_timeout_s: For one document.
        parse_memory_bytes: Address space of a parser process.
        max_body_bytes: Of a REST request.
        max_query_characters: Of a question; the rest is refused.
    """

    max_file_bytes: int = 200_000_000
    max_zip_members: int = 10_000
    max_zip_ratio: int = 200
    max_expanded_bytes: int = 1_000_000_000
    max_pages: int = 5_000
    max_text_characters: int = 50_000_000
    parse_timeout_s: float = 120.0
    parse_memory_bytes: int = 4_000_000_000
    max_body_bytes: int = 64_000_000
    max_query_characters: int = 20_000


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The service.

    Attributes:
        host: Address to listen on; loopback unless keys exist.
        port: TCP port; 0 takes a free one.
        public_url: How others reach the server, for links in answers; empty for none.
        allowed_hosts: Further Host names to accept.
        allowed_origins: Origins of web pages that may call it (CORS).
        allow_roots: Folders that `POST /v1/ingest` may read.
        allow_write: Whether MCP offers `add`.
        idle_exit_s: A background owner without callers leaves after so long.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    public_url: str = ""
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    allow_roots: tuple[str, ...] = ()
    allow_write: bool = False
    idle_exit_s: float = 600.0


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings; `origins` says where each value came from (`embedding.model` → `default`)."""

    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    chunks: ChunkSettings = field(default_factory=ChunkSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    vectors: VectorSettings = field(default_factory=VectorSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    server: ServerSettings = field(default_factory=ServerSettings)
    origins: Mapping[str, str] = field(default_factory=dict, compare=False)

    def flat(self) -> dict[str, object]:
        """Return every setting by its dotted name, in the order declared."""
        return {
            name: getattr(getattr(self, name.split(".")[0]), name.split(".")[1]) for name in _TYPES
        }


def _setting_types() -> dict[str, object]:
    types: dict[str, object] = {}
    for section, section_type in get_type_hints(Settings).items():
        if not dataclasses.is_dataclass(section_type):
            continue
        for name, setting_type in get_type_hints(section_type).items():
            types[f"{section}.{name}"] = setting_type
    return types


_TYPES = _setting_types()


def load_settings(
    home: Path,
    *,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
) -> Settings:
    """Read the settings of a home; the later source wins: file, environment, flags.

    Args:
        home: Where `kb.toml` may lie; it need not exist.
        environment: Variables; None for the process's own.
        flags: Dotted names to values from the command line; None values are left out.

    Raises:
        SettingsError: An unknown name (with the nearest known one) or a wrong value.
    """
    values: dict[str, object] = {}
    origins: dict[str, str] = dict.fromkeys(_TYPES, "default")
    for name, value, origin in [
        *_from_file(home / "kb.toml"),
        *_from_environment(os.environ if environment is None else environment),
        *((n, v, "flag") for n, v in (flags or {}).items() if v is not None),
    ]:
        _check_name(name, origin)
        values[name] = _converted(name, value, origin)
        origins[name] = origin
    settings = _built(values, origins)
    _check_ranges(settings)
    return settings


def _from_file(path: Path) -> list[tuple[str, object, str]]:
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise SettingsError(
            f"kb.toml cannot be read: {error}", hint=f"Mend or remove {path}."
        ) from error
    found: list[tuple[str, object, str]] = []
    for section, table in tables.items():
        if not isinstance(table, dict):
            found.append((section, table, "kb.toml"))
            continue
        found += [(f"{section}.{name}", value, "kb.toml") for name, value in table.items()]
    return found


def _from_environment(environment: Mapping[str, str]) -> list[tuple[str, object, str]]:
    found: list[tuple[str, object, str]] = []
    key_variable = environment.get("KB_EMBEDDING__API_KEY_ENV", EmbeddingSettings().api_key_env)
    for variable in sorted(environment):
        if not variable.startswith("KB_") or variable in _RESERVED_VARIABLES:
            continue
        if variable == key_variable or variable.startswith("KB_QUICKSTART"):
            continue
        name = variable[3:].lower().replace("__", ".")
        if "." not in name and not any(n.startswith(f"{name}.") for n in _TYPES):
            # KB_PORT and the like of other programs: an unknown plain word is an error too,
            # so that a typing mistake is never silently without effect.
            matches = [n for n in _TYPES if n.endswith(f".{name}")]
            hint = _variable(matches[0]) if matches else _variable(_nearest(name))
            raise SettingsError(
                f"unknown variable {variable}", hint=f"Did you mean {hint}? Else unset it."
            )
        found.append((name, environment[variable], f"environment {variable}"))
    return found


def _variable(name: str) -> str:
    return "KB_" + name.replace(".", "__").upper()


def _nearest(name: str) -> str:
    close = difflib.get_close_matches(name, list(_TYPES), n=1, cutoff=0.0)
    return close[0]


def _check_name(name: str, origin: str) -> None:
    if name not in _TYPES:
        raise SettingsError(
            f"unknown setting {name!r} ({origin})",
            hint=f"Did you mean {_nearest(name)!r}? `kb config show` lists all.",
        )


def _converted(name: str, value: object, origin: str) -> object:
    wanted = _TYPES[name]
    try:
        return _as_type(wanted, value)
    except (TypeError, ValueError) as error:
        kind = "a list of texts" if get_origin(wanted) is tuple else getattr(wanted, "__name__", "")
        raise SettingsError(
            f"{name} = {value!r} ({origin}) is not {kind}",
            hint=f"Give {name} a value of the right kind; `kb config show` shows examples.",
        ) from error


def _as_type(wanted: object, value: object) -> object:
    if get_origin(wanted) is tuple:
        assert_text = get_args(wanted)[0]
        parts = value.split(",") if isinstance(value, str) else value
        if not isinstance(parts, list | tuple) or not all(
            isinstance(p, assert_text) for p in parts
        ):
            raise TypeError(value)
        return tuple(p.strip() for p in parts if p.strip())
    if wanted is bool:
        return _as_bool(value)
    if isinstance(value, bool):
        raise TypeError(value)
    if wanted is int and isinstance(value, int | str):
        return int(value)
    if wanted is float and isinstance(value, int | float | str):
        return float(value)
    if wanted is str and isinstance(value, str):
        return value
    raise TypeError(value)


def _as_bool(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in {"1", "true", "yes", "on"}:
        return True
    if isinstance(value, str) and value.lower() in {"0", "false", "no", "off"}:
        return False
    raise TypeError(value)


def _built(values: Mapping[str, object], origins: Mapping[str, str]) -> Settings:
    sections: dict[str, dict[str, object]] = {}
    for name, value in values.items():
        section, key = name.split(".")
        sections.setdefault(section, {})[key] = value
    settings = Settings(origins=origins)
    for section, chosen in sections.items():
        part = dataclasses.replace(getattr(settings, section), **chosen)
        settings = dataclasses.replace(settings, **{section: part})
    return settings


def _check_ranges(settings: Settings) -> None:
    chunks = settings.chunks
    checks = [
        (0 <= settings.search.min_relevance <= 1, "search.min_relevance", "between 0 and 1"),
        (1 <= settings.search.k <= 1000, "search.k", "between 1 and 1000"),
        (50 <= chunks.target <= chunks.cap, "chunks.target", "at least 50 and at most chunks.cap"),
        (chunks.cap <= 20_000, "chunks.cap", "at most 20000"),
        (0 <= chunks.minimum <= chunks.target, "chunks.minimum", "at most chunks.target"),
        (0 <= chunks.overlap < chunks.target, "chunks.overlap", "less than chunks.target"),
        (
            settings.vectors.engine in {"auto", "exact", "chroma"},
            "vectors.engine",
            "auto, exact or chroma",
        ),
        (0 <= settings.server.port <= 65535, "server.port", "between 0 and 65535"),
        (settings.embedding.threads >= 0, "embedding.threads", "0 or more"),
    ]
    for name, value in settings.flat().items():
        if name.startswith("limits.") and isinstance(value, int | float):
            checks.append((value > 0, name, "more than 0"))
    for holds, name, rule in checks:
        if not holds:
            raise SettingsError(
                f"{name} = {settings.flat()[name]!r} is out of range",
                hint=f"{name} must be {rule}.",
            )
