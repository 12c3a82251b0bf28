"""THESIS Fig. C.10: gradient norm of the first layer against depth, rows of norm 1 and of norm sqrt(n)."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402

figures.gradients_by_depth(__file__, __doc__, "preset", "norm", 0)
