"""THESIS Fig. 3.4: distance of the Gram matrix from its fixed point against batch."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402

figures.gram_distance(__file__, __doc__, "batch", "n")
