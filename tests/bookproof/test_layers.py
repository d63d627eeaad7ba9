"""The picture of a package says what the contract of its imports says, and what each module is for."""

from bookproof.layers import as_text, read_floors

PROJECT = """
[tool.importlinter]
root_package = "tiny"

[[tool.importlinter.contracts]]
name = "independent"
type = "independence"

[[tool.importlinter.contracts]]
name = "floors"
type = "layers"
layers = ["room", "words | numbers", "__main__"]
"""
PICTURE = """\
┌────────────────────────┐
│ room      Run it.      │
├────────────────────────┤
│ words     Words, in x. │
│ numbers                │
├────────────────────────┤
│ __main__  The door.    │
└────────────────────────┘
"""


def test_floors_come_from_the_top_with_what_each_module_is_for(tmp_path):
    project, package = tmp_path / "pyproject.toml", tmp_path / "tiny"
    project.write_text(PROJECT, "utf-8")
    (package / "room").mkdir(parents=True)
    (package / "room" / "__init__.py").write_text('"""Run it."""\n', "utf-8")
    (package / "words.py").write_text('"""Words, in ``x``.\n\nMany."""\n', "utf-8")
    (package / "numbers.py").write_text("x = 1\n", "utf-8")
    (package / "__main__.py").write_text('"""The door."""\n', "utf-8")
    name, floors = read_floors(project)
    words = [("words", "Words, in x."), ("numbers", "")]
    assert name == "tiny"
    assert floors == [[("room", "Run it.")], words, [("__main__", "The door.")]]
    assert as_text(project) == PICTURE
