"""THESIS Fig. 6.3: gradient norm of the second layer against depth, orthogonal and Gaussian weights."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402

figures.gradients_by_depth(__file__, __doc__, "width", "weight-dist", 1)
