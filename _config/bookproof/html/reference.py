"""Write a page of the reference for each module of the package; none of them is kept in the source.

`bookproof_reference` names a folder of the source that belongs to these pages, and
`bookproof_reference_options` the options of `automodule` where they are not `:members:` alone.
sphinx.ext.apidoc is not used: it takes no templates yet, so that titles, options and addresses of
the pages could not be chosen.
"""

from importlib.util import find_spec
from pathlib import Path

from sphinx.application import Sphinx

PAGE = """\
# {title}

```{{eval-rst}}
.. automodule:: {module}
   {options}
```
"""


def pages(package: Path, options: dict[str, str]) -> dict[Path, str]:
    """Return the text of each page, by its path in the folder of the reference."""
    paths = [file.relative_to(package).with_suffix("") for file in sorted(package.rglob("*.py"))]
    titles = {path: ".".join(path.parts) for path in paths if not path.stem.startswith("__")}
    return {
        path.with_suffix(".md"): PAGE.format(
            title=title,
            module=f"{package.name}.{title}",
            options=options.get(title, ":members:"),
        )
        for path, title in titles.items()
    }


def write_pages(app: Sphinx) -> None:
    """Write what has changed, and remove the pages of modules that are gone."""
    if not app.config.bookproof_reference:
        return
    folder = Path(app.srcdir, app.config.bookproof_reference)
    package = find_spec(app.config.bookproof_package)
    assert package is not None
    assert package.origin is not None
    wanted = pages(Path(package.origin).parent, app.config.bookproof_reference_options)
    for old in folder.rglob("*.md"):
        if old.relative_to(folder) not in wanted:
            old.unlink()
    for path, text in wanted.items():
        file = folder / path
        if not file.is_file() or file.read_text("utf-8") != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("bookproof_reference", "", "", str)
    app.add_config_value("bookproof_reference_options", {}, "", dict)
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
