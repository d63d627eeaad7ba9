"""Lines lead from each chapter to those that need it, and only where no other line says it already."""

from selfattn_book.figures.prerequisites import _direct, _lanes, prerequisites

BUILDS_ON = [[], [1], [1, 2], [1], [3, 4]]


def discs(ax):
    return [patch for patch in ax.patches if type(patch).__name__ == "Circle"]


def test_each_direct_need_has_a_dot():
    ax = prerequisites(list("abcde"), BUILDS_ON, {"All": 1})
    direct = _direct(BUILDS_ON)
    assert direct == [set(), {1}, {2}, {1}, {3, 4}]
    assert len(discs(ax)) == sum(map(len, direct)) == 5


def test_two_lines_in_one_lane_do_not_meet():
    lanes = _lanes(BUILDS_ON)
    spans = {n: (n, max(i for i, needed in enumerate(BUILDS_ON, 1) if n in needed)) for n in lanes}
    for one in lanes:
        for other in lanes:
            if one != other and lanes[one] == lanes[other]:
                assert spans[one][1] <= spans[other][0] or (spans[other][1] <= spans[one][0])


def test_all_needs_are_told():
    label = prerequisites(list("abcde"), BUILDS_ON, {"All": 1}).get_label()
    assert "3 c builds on 1 and 2" in label
