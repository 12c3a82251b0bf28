"""`norma meanfield` against independent numpy quadrature, closed forms and `norma chain`, and with wrong input.

Kernel maps of 13 activations: Gauss-Hermite rules for the smooth ones, nested Gauss-Legendre rules between the kinks
for relu, leaky-relu and selu; kappa'' of the smooth ones by differentiating a Chebyshev fit of kappa'. The fixed point of uncentred
batch normalization with relu: by its representation as an integral over one variable.

The comparison with chains uses a fixed seed; its tolerances are 5 standard errors, and a quarter of the exponent 1/2.
"""
import math
import os

import h5py
import numpy as np
from numpy.polynomial import chebyshev, hermite_e, legendre

import program

erf = np.vectorize(math.erf)
SELU = 1.0507009873554804934193349852946
ALPHA = 1.6732632423543772848170429916717


def sigmoid(x):
    return 0.5 * (1 + np.tanh(0.5 * x))


def density(x):
    return np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def normal(x):
    return 0.5 * (1 + erf(x / math.sqrt(2)))


# name: phi, phi', has a kink at 0
ACTIVATIONS = {
    "identity": (lambda x: x, lambda x: 1 + 0 * x, False),
    "relu": (lambda x: np.maximum(x, 0), lambda x: (x > 0) * 1.0, True),
    "leaky-relu:0.2": (lambda x: np.where(x > 0, x, 0.2 * x), lambda x: np.where(x > 0, 1, 0.2), True),
    "tanh": (np.tanh, lambda x: 1 - np.tanh(x) ** 2, False),
    "sin": (np.sin, np.cos, False),
    "sigmoid": (sigmoid, lambda x: sigmoid(x) * sigmoid(-x), False),
    "gelu": (lambda x: x * normal(x), lambda x: normal(x) + x * density(x), False),
    "selu": (lambda x: SELU * np.where(x > 0, x, ALPHA * np.expm1(np.minimum(x, 0))),
             lambda x: SELU * np.where(x > 0, 1, ALPHA * np.exp(np.minimum(x, 0))), True),
    "exp": (np.exp, np.exp, False),
    "silu": (lambda x: x * sigmoid(x), lambda x: sigmoid(x) + x * sigmoid(x) * sigmoid(-x), False),
    "softplus": (lambda x: np.logaddexp(0, x), sigmoid, False),
    "erf": (erf, lambda x: 2 / math.sqrt(math.pi) * np.exp(-x * x), False),
    "hermite:3": (lambda x: (x ** 3 - 3 * x) / math.sqrt(6), lambda x: (3 * x * x - 3) / math.sqrt(6), False),
}
HERMITE = hermite_e.hermegauss(120)
LEGENDRE = legendre.leggauss(80)


def mean_of_product(f, kinked, theta):
    """E f(X) f(Y), correlation cos(theta)."""
    rho, side = math.cos(theta), math.sin(theta)
    if not kinked:
        x, w = HERMITE
        w = w / w.sum()
        return w @ (f(x)[:, None] * f(rho * x[:, None] + side * x[None, :])) @ w
    node, weight = LEGENDRE
    total = 0.0
    for sign in (-1, 1):
        x = sign * 6 * (1 + node)
        inner = np.zeros_like(x)
        kink = np.clip(-rho * x / side, -12, 12)
        for low, high in ((-12 + 0 * x, kink), (kink, 12 + 0 * x)):
            half = 0.5 * (high - low)
            z = 0.5 * (low + high)[:, None] + half[:, None] * node[None, :]
            inner += half * ((density(z) * f(rho * x[:, None] + side * z)) @ weight)
        total += 6 * (weight * density(x) * f(x)) @ inner
    return total


def moment(f):
    """E f(X)."""
    node, weight = LEGENDRE
    total = 0.0
    for start in range(-14, 14):
        x = start + 0.5 * (1 + node)
        total += 0.5 * weight @ (density(x) * f(x))
    return total


def kinked_curvature(name, theta):
    """E phi''(X) phi''(Y) where phi'' is a regular part on x < 0 and a point mass at 0."""
    def regular(x):
        return SELU * ALPHA * np.exp(np.minimum(x, 0)) * (x < 0) if name == "selu" else 0 * x

    slope = ACTIVATIONS[name][1]
    mass = float(slope(np.array(1e-300)) - slope(np.array(-1e-300)))
    given_zero = moment(lambda z: regular(math.sin(theta) * z))
    return (mean_of_product(regular, True, theta) + 2 * mass * given_zero / math.sqrt(2 * math.pi)
            + mass ** 2 / (2 * math.pi * math.sin(theta)))


def kernel(name, centered):
    """kappa(theta), kappa'(theta), kappa''(theta) of the normalized activation, kappa(0), kappa'(1)."""
    phi, slope, kinked = ACTIVATIONS[name]
    mean, square = moment(phi), moment(lambda x: phi(x) ** 2)
    if abs(mean) < 1e-14:
        mean = 0.0
    shift = mean if centered else 0.0
    scale = square - shift ** 2
    if kinked:
        return (lambda t: (mean_of_product(phi, True, t) - shift ** 2) / scale,
                lambda t: mean_of_product(slope, True, t) / scale,
                lambda t: kinked_curvature(name, t) / scale,
                (mean ** 2 - shift ** 2) / scale, moment(lambda x: slope(x) ** 2) / scale)
    n = 64
    theta = 0.5 * math.pi * (1 + np.cos(math.pi * (np.arange(n) + 0.5) / n))
    values = [mean_of_product(slope, False, t) / scale for t in theta]
    fit = chebyshev.Chebyshev.fit(theta, values, n - 1, domain=[0, math.pi])
    return (lambda t: (mean_of_product(phi, False, t) - shift ** 2) / scale,
            lambda t: mean_of_product(slope, False, t) / scale,
            lambda t: -fit.deriv()(t) / math.sin(t),
            (mean ** 2 - shift ** 2) / scale, moment(lambda x: slope(x) ** 2) / scale)


def attractor(kappa, at_zero, slope_one):
    if abs(at_zero) < 1e-12:
        return 1, 0.0
    if slope_one < 1 - 1e-11:
        return 2, 1.0
    if slope_one < 1 + 1e-11:
        return 3, 1.0
    low, high = 0.0, 1 - 1e-3
    while high - low > 1e-15:
        middle = 0.5 * (low + high)
        if kappa(math.acos(middle)) > middle:
            low = middle
        else:
            high = middle
        if high - low < 4e-16 * high:
            break
    return 4, 0.5 * (low + high)


def close(value, expected, tolerance, what):
    program.check(abs(value - expected) <= tolerance * max(1, abs(expected)), f"{what}: {value!r}, expected {expected!r}")


def check_kernels(folder):
    path = os.path.join(folder, "kernels.h5")
    names = program.some(sorted(ACTIVATIONS, key=("relu", "tanh", "exp", "identity").count, reverse=True), 4)
    done = program.launch(["meanfield", "--act", ",".join(names), "--variant", "none,post-ln", "--grid", 17,
                           "--depth", 3000, "--rho0", 0.3, "--output", path])
    program.check(done.returncode == 0, f"kernels: {done.stderr}")
    f = {k: v[...] for k, v in h5py.File(path).items() if v.shape}
    for i, name in enumerate(names):
        for j, centered in enumerate((False, True)):
            kappa, slope, curvature, at_zero, slope_one = kernel(name, centered)
            label = f"{name}, {'post-ln' if centered else 'none'}"
            for k, rho in enumerate(f["rho_grid"]):
                if abs(rho) == 1:
                    continue
                theta = math.acos(rho)
                close(f["kappa"][i, j, k], kappa(theta), 1e-10, f"{label}: kappa({rho})")
                close(f["kappa_prime"][i, j, k], slope(theta), 1e-10, f"{label}: kappa'({rho})")
                close(f["kappa_second"][i, j, k], curvature(theta), 1e-9, f"{label}: kappa''({rho})")
            close(f["kappa_0"][i, j], at_zero, 1e-10, f"{label}: kappa(0)")
            close(f["kappa_prime_1"][i, j], slope_one, 1e-10, f"{label}: kappa'(1)")
            if name == "identity":
                program.check(f["case"][i, j] == 0 and np.isnan(f["fixed_point"][i, j]), f"{label}: not every point fixed")
                continue
            case, fixed = attractor(kappa, at_zero, slope_one)
            program.check(f["case"][i, j] == case, f"{label}: case {f['case'][i, j]}, expected {case}")
            close(f["fixed_point"][i, j], fixed, 1e-10, f"{label}: fixed point")
            if case != 3:
                rate = slope_one if fixed == 1 else slope(math.acos(fixed))
                close(f["rate_asymptotic"][i, j], rate, 1e-10, f"{label}: asymptotic rate")
                if rate > 0.05: # otherwise the distances end before the rate is reached
                    close(f["rate_measured"][i, j], rate, 1e-9, f"{label}: measured rate")
    return names


def check_gram(folder):
    """F(G*) = G* for relu without centring: E phi phi' n / |h|^2 = n int det(I + 2 s G)^(-1/2) E_(G_s) phi phi' ds."""
    path = os.path.join(folder, "gram.h5")
    done = program.launch(["meanfield", "--act", "relu", "--variant", "bn", "--batch", "3,5,10", "--depth", 60,
                           "--output", path], ranks=2)
    program.check(done.returncode == 0, f"gram: {done.stderr}")
    fixed = h5py.File(path)["gram_fixed_point"][...]
    node, weight = legendre.leggauss(400)
    r = 35 * node # s = e^r
    for (diagonal, off), n in zip(fixed, (3, 5, 10)):
        g = (diagonal - off) * np.eye(n) + off
        image = np.zeros(2)
        for s, w in zip(np.exp(r), 35 * weight * np.exp(r)):
            m = np.eye(n) + 2 * s * g
            gs = np.linalg.solve(m, g)
            rho = gs[0, 1] / gs[0, 0]
            arc = gs[0, 0] * (math.sqrt(1 - rho ** 2) + (math.pi - math.acos(rho)) * rho) / (2 * math.pi)
            image += n * w * np.linalg.det(m) ** -0.5 * np.array([gs[0, 0] / 2, arc])
        close(diagonal, image[0], 1e-10, f"relu, n = {n}: G*_11")
        close(off, image[1], 1e-10, f"relu, n = {n}: G*_12")


def check_chain(folder):
    """Cosines in chains of finite width scatter about the sequence by c / sqrt(d), with a bias of order 1 / d."""
    depth, replicas = 4, 200
    spread = {}
    sequence = os.path.join(folder, "sequence.h5")
    for act in ("relu", "tanh"):
        done = program.launch(["meanfield", "--act", act, "--rho0", 0.5, "--depth", depth, "--output", sequence, "--force"])
        program.check(done.returncode == 0, f"sequence: {done.stderr}")
        rho = h5py.File(sequence)["rho"][...]
        for d in (250, 1000, 4000):
            start, path = (os.path.join(folder, name) for name in ("start.h5", "chain.h5"))
            h0 = np.zeros((d, 2))
            h0[0] = [math.sqrt(d), 0.5 * math.sqrt(d)]
            h0[1, 1] = math.sqrt(0.75 * d)
            with h5py.File(start, "w") as f:
                f["H0"] = h0
            done = program.launch(["chain", "--preset", "thesis5", "--act", act, "--input", start, "--depth", depth,
                                   "--replicas", replicas, "--observables", "cosine", "--record", "all", "--seed", 3, "--law", "exact",
                                   "--output", path, "--force"])
            program.check(done.returncode == 0, f"chain {act}, d = {d}: {done.stderr}")
            with h5py.File(path) as f:
                difference = f["cosine"][...].reshape(replicas, -1)[:, -depth:] - rho[1:]
            spread[d] = np.sqrt(np.mean(difference ** 2))
            error = 5 * difference.std(axis=0) / math.sqrt(replicas) + 10 / d
            program.check((abs(difference.mean(axis=0)) < error).all(), f"{act}, d = {d}: mean differences {difference.mean(axis=0)}")
        exponent = -math.log(spread[4000] / spread[250]) / math.log(16)
        print(f"{act}: rms difference {spread}, exponent {exponent:.3f}")
        program.check(abs(exponent - 0.5) < 0.1, f"{act}: differences fall as d^-{exponent:.3f}, expected d^-0.5")


def check_refusals(folder):
    output = os.path.join(folder, "no.h5")
    for arguments, text in program.some(((["--act", "leaky-relu:1e200"], "E phi(X)^2 is inf"), (["--act", "hermite-sum:0,0"], "E phi(X)^2 is 0"),
                            (["--act", "hermite:0", "--variant", "post-ln"], "constant"), (["--act", "relu6"], "jumps away from 0"),
                            (["--act", "rleu"], "'relu'"),
                            (["--act", "hermite-sum:1,,2"], "empty item"), (["--act", "hermite-sum"], "coefficients"),
                            (["--variant", "bn-centered", "--batch", 1], "at least 2"), (["--rho0", 1.5], "--rho0"),
                            (["--variant", "bn", "--batch", 5, "--rho0", -0.5], "from -0.25"),
                            (["--act", "hermite:30", "--variant", "bn"], "up to 24"),
                            (["--act", "hermite:0", "--variant", "bn"], "constant")), 4):
        done = program.launch(["meanfield", "--output", output] + arguments)
        program.check(done.returncode == 2 and text in done.stderr, f"{arguments}: exit {done.returncode}, {done.stderr}")
    program.check(not os.path.exists(output), "a refused run left its output")
    done = program.launch(["plan", "meanfield", "--depth", "1e6", "--act", "relu,hermite-sum:1,1,2", "--ranks", 7])
    program.check(done.returncode == 0 and "2 cells" in done.stdout, f"plan: {done.stdout} {done.stderr}")


def check_small_batches(folder):
    path = os.path.join(folder, "small.h5")
    done = program.launch(["meanfield", "--act", "tanh", "--variant", "bn", "--batch", "1,2,3", "--depth", 3, "--output", path])
    program.check(done.returncode == 0, f"small batches: {done.stderr}")
    with h5py.File(path) as f:
        program.check(np.isinf(f["gradient_rate"][...]).tolist() == [True, True, False], "gradients of 1, 2, 3 samples")
        close(f["gram_fixed_point"][0, 0], math.tanh(1) ** 2, 1e-13, "one sample: G*")
        program.check(f["gram_multiplicity"][...].tolist() == [[1, 0, 0], [1, 1, 0], [1, 2, 0]], "multiplicities")


def check_ranks(folder, names):
    """The same variables on 1, 2 and 3 ranks, and from the configuration that the file holds."""
    paths = [os.path.join(folder, f"ranks{n}.h5") for n in program.some((1, 2, 3), 2)]
    for n, path in enumerate(paths, 1):
        done = program.launch(["meanfield", "--act", ",".join(names[:4] + ["hermite-sum:1,1,2"]), "--variant", "none,bn-centered",
                               "--batch", 4, "--depth", 20, "--output", path], ranks=n)
        program.check(done.returncode == 0, f"{n} ranks: {done.stderr}")
    again = os.path.join(folder, "again.h5")
    with h5py.File(paths[0]) as f:
        text = f["configuration"][()]
    with open(os.path.join(folder, "again.yaml"), "w", encoding="utf-8") as file:
        file.write(text.decode() if isinstance(text, bytes) else text)
    done = program.launch(["meanfield", "--config", os.path.join(folder, "again.yaml"), "--output", again])
    program.check(done.returncode == 0, f"configuration: {done.stderr}")
    with h5py.File(paths[0]) as f:
        for path in paths[1:] + [again]:
            with h5py.File(path) as g:
                for name in f:
                    if name != "configuration" and f[name].dtype.kind in "fi":
                        program.check(np.array_equal(f[name][...], g[name][...], equal_nan=f[name].dtype.kind == "f"),
                                      f"{os.path.basename(path)}: {name} differs")


def main():
    with program.folder() as folder:
        names = check_kernels(folder)
        check_gram(folder)
        check_small_batches(folder)
        check_ranks(folder, names)
        if program.ALL:
            check_chain(folder)
        check_refusals(folder)
    program.finish()


main()
