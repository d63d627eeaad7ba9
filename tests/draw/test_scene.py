"""A scene computes its layout and its text alternative from one tree."""

import pytest

from selfattn_book.draw.canvas import canvas
from selfattn_book.draw.scene import between, column, frame, grid, part, row, show, slot, space


def laid_out(node, width):
    node.fit(width)
    node.place(0, 0)
    return node


def test_a_row_that_is_too_wide_becomes_a_column():
    nodes = [space(100, 20, alt=text) for text in "ab"]
    assert laid_out(row(*nodes, gap=10), 210).width == 210
    assert nodes[1].left == 110
    narrow = laid_out(row(*nodes, gap=10), 209)
    assert (narrow.width, narrow.height, nodes[1].at(0, 0)) == (100, 50, (0, 30))


def test_a_grid_fills_its_rows():
    nodes = [space(10, 20) for _ in range(3)]
    laid_out(grid(nodes, 2, gap=5), 100)
    assert [node.at(0, 0) for node in nodes] == [(0, 0), (15, 0), (0, 25)]


@pytest.mark.parametrize("align", [0, 0.5, 1])
def test_nodes_are_aligned(align):
    small, large = space(20, 10), space(60, 30)
    laid_out(row(small, large, align=align), 600)
    assert small.top == align * 20
    laid_out(column(small, large, align=align), 600)
    assert small.left == align * 40


def test_frames_and_slots_keep_their_node_in_the_middle():
    inner = space(20, 10)
    outer = laid_out(frame(slot(inner, 40), pad=5), 600)
    assert (outer.width, outer.height, inner.at(0.5, 0.5)) == (50, 20, outer.at(0.5, 0.5))


@pytest.mark.parametrize(
    ("place", "points"),
    [
        ((40, 0), [(20, 5), (40, 5)]),  # beside
        ((-40, 0), [(0, 5), (-20, 5)]),
        ((0, 30), [(10, 10), (10, 30)]),  # below
        ((0, -30), [(10, 0), (10, -20)]),  # above
        ((40, 30), [(10, 10), (10, 35), (40, 35)]),  # below and beside
    ],
)
def test_a_wire_runs_between_the_nearest_sides(place, points):
    start, end = space(20, 10), space(20, 10)
    end.place(*place)
    assert between(start, end) == points


@pytest.mark.parametrize(("around", "x"), [(5, 25), (-5, -5)])
def test_a_wire_runs_around_nodes_at_the_right_or_left(around, x):
    nodes = [space(20, 10), space(20, 10)]
    root = column(*nodes, gap=0)
    root.link(*nodes, around=around, head=False)
    ax = canvas(100, 40)
    laid_out(root, 100).draw(ax)
    (wire,) = ax.patches
    side = 20 if around > 0 else 0
    assert wire.get_path().vertices.tolist() == [[side, 5], [x, 5], [x, 15], [side, 15]]


def test_the_text_alternative_is_the_sentences_in_reading_order():
    def build(narrow):
        inner = column(part("b", alt="Second"), part("c", alt="Third"))
        return row(part("a", alt="First"), inner, alt="All")

    ax = show(build, "Opening")
    assert ax.get_label() == "Opening. All. First. Second. Third."
    assert ax.figure.phone.axes[0].get_label() == ax.get_label()
