#ifndef NORMA_THEORY_KERNEL_QUADRATURE_H
#define NORMA_THEORY_KERNEL_QUADRATURE_H
/* E f(X) f(Y) for X, Y standard normal with correlation cos(theta), by quadrature. */
#include "src/theory/transfer.h"

typedef double (*norma_kernel_function)(const norma_transfer *psi, double x);

/* For f analytic on the real line (poles no nearer than pi / 2): the trapezoid rule in the
 * variables (X + Y) and (X - Y), which converges exponentially. */
double norma_kernel_quadrature_smooth(const norma_transfer *psi, norma_kernel_function f,
                                      double theta);

/* For f entire on each half line, with a kink or a jump at 0: Gauss-Legendre rules in polar
 * coordinates, sector by sector between the lines X = 0 and Y = 0. */
double norma_kernel_quadrature_kinked(const norma_transfer *psi, norma_kernel_function f,
                                      double theta);

/* E f(sin(theta) Z), Z standard normal: the mean of f(Y) given X = 0. */
double norma_kernel_quadrature_given_zero(const norma_transfer *psi, norma_kernel_function f,
                                          double theta);

#endif
