"""The variables of the environment that may change a computed number."""

import os
import re

# The last digits of a sum depend on the number of threads, the order of a set on the seed;
# and a library that is loaded before its kernel has to know where figures will go.
# Without assertions, every check would hold.
ENVIRONMENT = {
    "MKL_NUM_THREADS": "1",
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONOPTIMIZE": "",
}
# Variables that begin so tell the libraries how to compute.
ARITHMETIC = re.compile(r"(ATEN|BLIS|DNNL|KMP|MKL|NPY|OMP|ONEDNN|OPENBLAS|PYTORCH|TORCH)_")


def circumstances() -> dict[str, str]:
    """Return the variables of the environment that may change what a cell computes."""
    given = {name: value for name, value in os.environ.items() if ARITHMETIC.match(name)}
    return dict(sorted({**given, **ENVIRONMENT}.items()))
