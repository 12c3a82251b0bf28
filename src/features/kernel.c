#include "src/features/kernel.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool side_fits(int64_t side)
{
    return side >= 1 && side <= NORMA_KERNEL_MAX_SIDE;
}

static norma_status check_shape(norma_kernel_shape shape, const char *what)
{
    if (!side_fits(shape.height) || !side_fits(shape.width))
        return NORMA_FAIL(NORMA_CONFIG, "%s kernel %lldx%lld: sides must be 1 to %d", what,
                          (long long)shape.height, (long long)shape.width, NORMA_KERNEL_MAX_SIDE);
    return NORMA_OK;
}

int64_t norma_kernel_taps(norma_kernel_shape shape)
{
    return shape.height * shape.width;
}

norma_status norma_kernel_init(norma_kernel *out, norma_kernel_shape first,
                               norma_kernel_shape second, norma_kernel_shape target)
{
    NORMA_TRY(check_shape(first, "first source"));
    NORMA_TRY(check_shape(second, "second source"));
    NORMA_TRY(check_shape(target, "target"));
    norma_kernel_shape composite = {first.height + second.height - 1,
                                    first.width + second.width - 1};
    if (composite.height < target.height || composite.width < target.width)
        return NORMA_FAIL(NORMA_CONFIG,
                          "source kernels %lldx%lld and %lldx%lld compose to %lldx%lld, which does "
                          "not cover the target's %lldx%lld",
                          (long long)first.height, (long long)first.width, (long long)second.height,
                          (long long)second.width, (long long)composite.height,
                          (long long)composite.width, (long long)target.height,
                          (long long)target.width);
    *out = (norma_kernel){
        .first = first,
        .second = second,
        .composite = composite,
        .target = target,
        .offset = {(composite.height - target.height) / 2, (composite.width - target.width) / 2}};
    return NORMA_OK;
}

/* "HxW" at the start of text; what follows it goes to *rest. */
static bool read_shape(const char *text, norma_kernel_shape *shape, const char **rest)
{
    int height = 0;
    int width = 0;
    int length = 0;
    size_t digits = strspn(text, "0123456789"); /* sscanf alone would take blanks and signs */
    if (digits == 0 || text[digits] != 'x' || !strchr("0123456789", text[digits + 1]) ||
        sscanf(text, "%4dx%4d%n", &height, &width, &length) != 2)
        return false;
    *shape = (norma_kernel_shape){height, width};
    *rest = text + length;
    return true;
}

norma_status norma_kernel_parse_shape(const char *text, norma_kernel_shape *out)
{
    const char *rest = NULL;
    norma_kernel_shape shape = {0, 0};
    if (!read_shape(text, &shape, &rest) || *rest != '\0')
        return NORMA_FAIL(NORMA_CONFIG, "'%s' is not a kernel shape: HxW is expected, such as 3x3",
                          text);
    NORMA_TRY(check_shape(shape, "given"));
    *out = shape;
    return NORMA_OK;
}

norma_status norma_kernel_split(norma_kernel *out, const char *split, norma_kernel_shape target)
{
    const norma_kernel_shape one = {1, 1};
    norma_kernel_shape first = {0, 0};
    norma_kernel_shape second = {0, 0};
    const char *rest = NULL;
    if (strcmp(split, "second") == 0)
        return norma_kernel_init(out, one, target, target);
    if (strcmp(split, "first") == 0)
        return norma_kernel_init(out, target, one, target);
    if (!read_shape(split, &first, &rest) || *rest != '+' ||
        !read_shape(rest + 1, &second, &rest) || *rest != '\0')
        return NORMA_FAIL(NORMA_CONFIG,
                          "kernel split '%s': second, first or HxW+HxW (as in 1x1+3x3) is expected",
                          split);
    return norma_kernel_init(out, first, second, target);
}

int64_t norma_kernel_composite_tap(const norma_kernel *kernel, int64_t q, int64_t p)
{
    int64_t row = q / kernel->first.width + p / kernel->second.width;
    int64_t column = q % kernel->first.width + p % kernel->second.width;
    return row * kernel->composite.width + column;
}

void norma_kernel_embed(const norma_kernel *kernel, int64_t n_channels, const double *target,
                        double *embedded)
{
    int64_t n_taps = norma_kernel_taps(kernel->composite);
    size_t row_bytes = (size_t)kernel->target.width * sizeof *target;
    memset(embedded, 0, (size_t)(n_channels * n_taps) * sizeof *embedded);
    for (int64_t channel = 0; channel < n_channels; channel++) {
        for (int64_t row = 0; row < kernel->target.height; row++) {
            int64_t start = (kernel->offset.height + row) * kernel->composite.width;
            memcpy(embedded + channel * n_taps + start + kernel->offset.width, target, row_bytes);
            target += kernel->target.width;
        }
    }
}
