"""The results that are kept, in the form in which myst-nb looks for them."""

import shutil

from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from nbformat import NotebookNode
from sqlalchemy.exc import SQLAlchemyError

from .execution import Chapter, not_executed
from .messages import report


class Results:
    """The results of all chapters, each under its cells and its key."""

    def __init__(self, folder: str) -> None:
        self.cache = get_cache(folder)
        try:
            self.cache.list_cache_records()
        except (RuntimeError, SQLAlchemyError):
            report(f"The results kept in {folder} are damaged, and not used.")
            self.cache.clear_cache()

    def has(self, notebook: NotebookNode) -> bool:
        """Tell whether there are results of all cells."""
        try:
            _, executed = self.cache.merge_match_into_notebook(notebook)
        # Not there, or half-written: no file, no JSON, not as many cells.
        except (KeyError, ValueError, IndexError, AttributeError):
            return False
        return not not_executed(executed)

    def seconds(self, notebook: NotebookNode) -> list[float]:
        record = self.cache.match_cache_notebook(notebook)
        return (record.data or {}).get("cells", [])

    def keep(self, chapter: Chapter) -> None:
        """Keep the results of a chapter, if they are good."""
        data = {"execution_seconds": chapter.seconds, "cells": chapter.times}
        bundle = CacheBundleIn(chapter.notebook, str(chapter.file), data=data)
        try:
            if not chapter.failure:
                # The cache writes over a whole entry, but stumbles over a half-written one.
                _, name = self.cache.create_hashed_notebook(chapter.notebook)
                entry = self.cache.path / "executed" / name
                shutil.rmtree(entry, ignore_errors=True)
                self.cache.cache_notebook_bundle(bundle, False, overwrite=True)
        except (OSError, RuntimeError, SQLAlchemyError) as error:
            chapter.failure = f"{chapter}: its results cannot be kept: {error}"
        report(f"  {chapter}  {'failed' if chapter.failure else f'{chapter.seconds:.1f} s'}")
