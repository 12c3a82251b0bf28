"""THESIS Fig. 5.2: kernel maps of four activations and their distance from the fixed point."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402

figures.kernel_sequences(__file__, __doc__, [-0.8, -0.5, -0.5, -0.8], 100)
