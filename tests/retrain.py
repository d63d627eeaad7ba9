"""Train the model that writes once more, and ask whether it is as good as the one that is kept.

Run as: python tests/retrain.py [--seed N]; about ten minutes of one processor.
"""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from selfattn_book.experiments import model_file
from selfattn_book.experiments.options import seed
from selfattn_book.experiments.train_text import main as train

WITHIN = 0.02  # nats per character; between seeds it differs by less


def main(arguments: list[str] | None = None) -> int:
    """Return 0 if the recipe still gives what the book says that it gives, and otherwise 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=seed, default=0, help="of the new model")
    chosen = parser.parse_args(arguments).seed
    with TemporaryDirectory() as folder:
        model = Path(folder, "text.safetensors")
        files = ["--model", str(model), "--checkpoint", f"{folder}/text.pt"]
        train(["--seed", str(chosen), *files])
        *_, record = model_file.read(model)
    *_, known = model_file.load_bundled_model()
    print(f"The one that is kept: {known['held_out']:.3f} nats per character.")
    return judged(record["held_out"], known["held_out"])


def judged(again: float, known: float) -> int:
    """Return 1, and say it, if a loss is further from the one that is known than seeds are apart."""
    if abs(again - known) <= WITHIN:
        return 0
    print(f"The recipe gives another model than the book says: {again:.3f} nats.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
