"""An edition is what is committed, under a tag of its own."""

import subprocess

import pytest
from editions.repository import check, git, publish


@pytest.fixture
def repository(tmp_path):
    """A repository with one commit, and one to push to."""
    origin, here = tmp_path / "origin.git", tmp_path / "here"
    for arguments in (["--bare", origin], [here]):
        subprocess.run(["git", "init", "--quiet", *map(str, arguments)], check=True)
    for name, value in (("user.name", "A"), ("user.email", "a@example.org")):
        git(here, "config", name, value)
    git(here, "remote", "add", "origin", str(origin))
    commit(here, "one")
    return here


def commit(root, text):
    (root / "file").write_text(text, "utf-8")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", text)


def test_what_is_committed_and_has_no_tag_of_another_can_be_published(repository):
    check(repository, "1.0")
    assert git(repository, "tag") == ""
    git(repository, "tag", "v1.0")
    check(repository, "1.0")  # it names this commit
    commit(repository, "two")
    with pytest.raises(ValueError, match=r"v1\.0 names another commit already"):
        check(repository, "1.0")
    git(repository, "tag", "v2.0")
    with pytest.raises(ValueError, match=r"of this edition is v3\.0; .* called v2\.0"):
        check(repository, "3.0")


@pytest.mark.parametrize("name", ["file", "new"])
def test_what_is_not_committed_is_refused(repository, name):
    (repository / name).write_text("two", "utf-8")
    with pytest.raises(ValueError, match=f"1 files are not, the first is {name}$"):
        check(repository, "1.0")


def test_a_folder_without_a_repository_is_refused(tmp_path):
    with pytest.raises(ValueError, match="git status must work in"):
        check(tmp_path, "1.0")


def test_publishing_pushes_the_tag_and_nothing_else(repository):
    publish(repository, "1.0")
    publish(repository, "1.0")  # again, as after a push that was cut off
    assert git(repository, "ls-remote", "origin").split("\t")[1:][0].startswith("refs/tags/v1.0")
    assert "refs/heads" not in git(repository, "ls-remote", "origin")
    git(repository, "remote", "set-url", "origin", str(repository / "nowhere"))
    with pytest.raises(ValueError, match="git push must work"):
        publish(repository, "1.0")
