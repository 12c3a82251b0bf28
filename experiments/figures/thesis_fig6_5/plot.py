"""THESIS Fig. 6.5: gradient norm of the second layer against depth, gains (l + 1)^-K."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402

figures.gradients_by_depth(__file__, __doc__, "gain-exponent", "act", 1)
