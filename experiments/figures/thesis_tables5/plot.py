"""THESIS Table 5.1 and 5.2: Hermite coefficients of activations, and kappa(0), kappa(1), the weight of degrees >= 2."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402


def main():
    given = figures.arguments(__file__, __doc__)
    result = figures.Result(given.result)
    names = result.coordinate("act")
    coefficients = result.get("hermite")
    numbers = {name: result.get(name) for name in ("kappa_0", "kappa_1", "kappa_prime_0", "kappa_prime_1", "case")}
    for i, name in enumerate(names):
        at_zero, at_one = numbers["kappa_0"][i], numbers["kappa_1"][i]
        print(f"{name:10} centred {'yes' if at_zero < 1e-12 else 'no':3} kappa(0) {at_zero:.6f}  kappa(1) {at_one:.6f}  "
              f"degrees >= 2: {at_one - at_zero - numbers['kappa_prime_0'][i]:.6f}  kappa'(1) {numbers['kappa_prime_1'][i]:.6f}  "
              f"case {numbers['case'][i]:.0f}")
    picture, axes = plt.subplots(figsize=(4.8, 3.2))
    with np.errstate(divide="ignore"):
        image = axes.imshow(np.log10(np.maximum(coefficients[:, :12] ** 2, 1e-8)), cmap="viridis", aspect="auto")
    axes.set(xlabel="degree k", yticks=range(len(names)), yticklabels=names)
    picture.colorbar(image, label=r"$\log_{10} c_k^2$")
    figures.save(picture, given.output)


main()
