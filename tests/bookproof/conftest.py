"""Small books for the tests of the engine."""

import os
from pathlib import Path

import pytest
from small_books import ENGINE, HOST, PRELOAD, PROCESSES, SITE, SMALL_BOOK, Book


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """The folder of all small books of a session, of which there is one at a time."""
    if hasattr(PROCESSES, "set_forkserver_preload"):
        from multiprocessing import forkserver  # not on every platform

        # A process has one server to fork from, which another test may have started for itself.
        forkserver._forkserver._stop()
        PROCESSES.set_forkserver_preload(PRELOAD)
    # What is forked from has to find what it loads.
    with pytest.MonkeyPatch.context() as patch:
        paths = [str(Path(__file__).parent), str(ENGINE)]
        patch.setenv("PYTHONPATH", os.pathsep.join(paths))
        warm_up = PROCESSES.Process(target=os.getpid)
        warm_up.start()
        warm_up.join()
    return tmp_path_factory.mktemp("small")


@pytest.fixture
def book(home):
    """A small book that has not been built yet."""
    return Book.copy(SMALL_BOOK, home / "book")


@pytest.fixture(scope="session")
def site(home):
    """A small book that has been built, put aside to be read and not changed."""
    book = Book.copy(SMALL_BOOK, home / "book")
    assert book.build().ran == {"data", "number", "word"}
    return Book(book.root.rename(home / "aside"))


@pytest.fixture
def built(home, site):
    """A small book that has been built; at the place where it was, since that is part of it."""
    return Book.copy(site.root, home / "book")


@pytest.fixture(scope="session")
def known(home, site):
    """A small book that knows where it and its repository are, put aside to be read."""
    book = Book.copy(site.root, home / "book")
    assert book.build(f"-Dhtml_baseurl={SITE}", f"-Dbookproof_repository={HOST}/").good
    return Book(book.root.rename(home / "known"))
