"""The pages of the reference follow from the modules of a package."""

from types import SimpleNamespace

from bookproof.html.reference import write_pages


def test_each_module_has_a_page_and_no_other_page_is_left(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("__init__", "shapes", "sub/__init__", "sub/colors"):
        file = tmp_path / f"small_package/{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    folder = tmp_path / "docs/reference"
    folder.mkdir(parents=True)
    (folder / "gone.md").touch()
    config = SimpleNamespace(
        bookproof_reference="reference",
        bookproof_package="small_package",
        bookproof_reference_options={"sub.colors": ":members: red"},
    )
    write_pages(SimpleNamespace(config=config, srcdir=tmp_path / "docs"))
    pages = {str(page.relative_to(folder)): page.read_text() for page in folder.rglob("*.md")}
    assert pages.keys() == {"shapes.md", "sub/colors.md"}
    assert pages["shapes.md"].startswith("# shapes\n")
    assert ".. automodule:: small_package.sub.colors\n   :members: red\n" in pages["sub/colors.md"]
