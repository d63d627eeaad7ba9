"""What belongs to other packages is neither looked through nor looked for."""

from types import SimpleNamespace

import pytest
from bookproof import others
from docutils.nodes import document, literal, paragraph
from docutils.utils import new_document
from sphinx.addnodes import pending_xref
from sphinx.errors import PycodeError
from sphinx.pycode import ModuleAnalyzer


def test_no_source_but_that_of_the_package_is_read(monkeypatch):
    monkeypatch.setattr(ModuleAnalyzer, "for_module", staticmethod(ModuleAnalyzer.for_module))
    others.leave_unread(None, SimpleNamespace(bookproof_package="bookproof"))
    assert "leave_unread" in ModuleAnalyzer.for_module("bookproof.others").find_tags()
    for name in ("json.decoder", "bookproofs"):
        with pytest.raises(PycodeError, match="is another's"):
            ModuleAnalyzer.for_module(name)
    others.leave_unread(None, SimpleNamespace())  # without a package, all as before
    assert ModuleAnalyzer.for_module("json.decoder")


def page_with(*targets) -> document:
    page = new_document("page")
    for kind, target in targets:
        node = pending_xref(
            "",
            literal("", target),
            refdomain="py",
            reftype=kind,
            reftarget=target,
        )
        page += paragraph("", "", node)
    return page


def test_names_that_need_not_be_found_stand_as_words():
    ignored = [("py:.*", r"torch(\..*)?"), ("py:class", "Tensor")]
    page = page_with(
        ("class", "torch.Tensor"),
        ("class", "Tensor"),
        ("func", "Tensor"),
        ("class", "torches"),
        ("class", "Tensors"),
    )
    others.let_stand(SimpleNamespace(config=SimpleNamespace(nitpick_ignore_regex=ignored)), page)
    asked = [(x["reftype"], x["reftarget"]) for x in page.findall(pending_xref)]
    assert asked == [("func", "Tensor"), ("class", "torches"), ("class", "Tensors")]
    words = [node.astext() for node in page.findall(literal)]
    assert words == [
        "torch.Tensor",
        "Tensor",
        "Tensor",
        "torches",
        "Tensors",
    ], "nothing is lost"
