"""A fold says what it holds: the set-up of a page, or the code of the figure above it."""

import pytest
from bookproof.html.folds import name
from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode


def cell(*, tags=(), figure=False, place="above-input"):
    fold = HideCodeCellNode(prompt_show="Show the source", classes=[place])
    output = nodes.container("", *([nodes.figure()] if figure else []))
    return nodes.container("", fold, output, cell_index=4, cell_metadata={"tags": tags})


@pytest.mark.parametrize(
    ("made", "label", "is_last"),
    [
        (cell(), "Show the source", False),
        (cell(tags=["hide-input", "set-up"]), "Set-up", False),
        (cell(tags=["hide-input", "set-up"], figure=True), "Set-up", False),
        (cell(figure=True), "Code of this figure", True),
        (cell(figure=True, place="below-input"), "Show the source", False),
    ],
)
def test_the_code_of_a_figure_follows_it(made, label, is_last):
    name(None, made, "page")
    fold = next(made.findall(HideCodeCellNode))
    assert fold["prompt_show"] == label
    assert fold["cell"] == 5
    assert (made[-1] is fold) == is_last
