"""A scene computes its layout and its text alternative from one tree."""

import pytest

from selfattn_book.draw.scene import between, column, frame, label, part, row, show, slot, space


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
    assert (outer.width, outer.height) == (50, 20)
    assert inner.at(0.5, 0.5) == outer.at(0.5, 0.5)


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


def test_the_text_alternative_is_the_sentences_in_reading_order():
    def build(narrow):
        inner = column(label("b", alt="Second"), label("c", alt="Third"))
        return row(part("a", alt="First"), inner, alt="All")

    ax = show(build, "Opening")
    assert ax.get_label() == "Opening. All. First. Second. Third."
    assert ax.figure.phone.axes[0].get_label() == ax.get_label()
