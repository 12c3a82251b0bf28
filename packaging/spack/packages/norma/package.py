from spack.package import *


class Norma(CMakePackage):
    """Random networks with normalization layers, on clusters: reconstruction of target networks, conditioning of
    random features, and batches of samples in networks of up to a million layers."""

    license("Apache-2.0")

    # No archive is published: `spack dev-build norma@main` builds the source tree that it is called in.
    version("main")

    depends_on("c", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi@3:")
    depends_on("hdf5@1.10:+mpi+hl")
    depends_on("openblas@0.3.20: threads=pthreads")
    depends_on("netlib-scalapack")
    depends_on("gsl@2.6:")
    depends_on("zlib-api")
    depends_on("libyaml")
    depends_on("random123")
    depends_on("sleef@3.5:")
    depends_on("cmocka", type="test")

    def cmake_args(self):
        return [self.define("NORMA_TESTS", self.run_tests)]
