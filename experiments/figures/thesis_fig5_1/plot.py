"""THESIS Fig. 5.1: kernel maps of sums of Hermite polynomials and their distance from the fixed point."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402

figures.kernel_sequences(__file__, __doc__, [0.8, -0.1, -0.2, -0.9], 30)
