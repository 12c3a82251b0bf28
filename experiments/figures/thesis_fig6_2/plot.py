"""THESIS Fig. 6.2: gradient norm of the second layer against depth, distinct and repeated samples."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402

figures.gradients_by_depth(__file__, __doc__, "width", "input", 1)
