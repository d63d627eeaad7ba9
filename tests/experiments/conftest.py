"""How a command refuses."""

import sys

import pytest


@pytest.fixture
def refusal(capsys):
    """Return the exit code of a command that fails, and the message that it ends with."""

    def _refusal(main, *options):
        with pytest.raises(SystemExit) as stopped:
            sys.exit(main(list(options)))
        code, err = stopped.value.code, capsys.readouterr().err
        return (1, code) if isinstance(code, str) else (code, err)  # Python prints a string

    return _refusal
