#include "src/theory/second_moment.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_integration.h>
#include <math.h>

static double squared_with_density(double x, void *parameters)
{
    double value = norma_activation_value(parameters, x);
    return value * value * exp(-0.5 * x * x) * 0.39894228040143267794;
}

/* Both half lines apart, since several functions have a kink at 0. */
static norma_status integrate(const norma_activation *phi, double *out)
{
    enum { INTERVALS = 1000 };
    norma_activation copy = *phi;
    gsl_function f = {squared_with_density, &copy};
    gsl_integration_workspace *work = gsl_integration_workspace_alloc(INTERVALS);
    double below = 0, above = 0, error = 0;
    (void)gsl_set_error_handler_off();
    if (!work)
        return NORMA_FAIL(NORMA_MEMORY, "out of memory in a quadrature");
    int code = gsl_integration_qag(&f, -40, 0, 0, 1e-12, INTERVALS, GSL_INTEG_GAUSS61, work, &below,
                                   &error);
    if (code == GSL_SUCCESS)
        code = gsl_integration_qag(&f, 0, 40, 0, 1e-12, INTERVALS, GSL_INTEG_GAUSS61, work, &above,
                                   &error);
    gsl_integration_workspace_free(work);
    if (code != GSL_SUCCESS)
        return NORMA_FAIL(NORMA_LIBRARY, "second moment of activation %s: %s",
                          norma_activation_name(phi->kind), gsl_strerror(code));
    *out = below + above;
    return NORMA_OK;
}

norma_status norma_second_moment(const norma_activation *phi, double *out)
{
    switch (phi->kind) {
    case NORMA_ACTIVATION_IDENTITY:
    case NORMA_ACTIVATION_HERMITE:
        *out = 1;
        return NORMA_OK;
    case NORMA_ACTIVATION_RELU:
        *out = 0.5;
        return NORMA_OK;
    case NORMA_ACTIVATION_LEAKY_RELU:
        *out = 0.5 * (1 + phi->parameter * phi->parameter);
        return NORMA_OK;
    case NORMA_ACTIVATION_SIN:
        *out = -0.5 * expm1(-2);
        return NORMA_OK;
    case NORMA_ACTIVATION_EXP:
        *out = exp(2);
        return NORMA_OK;
    default:
        return integrate(phi, out);
    }
}
