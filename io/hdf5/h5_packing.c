#include "io/hdf5/h5_packing.h"

#include "io/hdf5/h5_input_internal.h"
#include "src/base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The numbers of an attribute, *n = 0 without it; at most `most`. */
static norma_status read_numbers(hid_t dataset, const char *file, const char *path,
                                 const char *name, int64_t most, double *out, int64_t *n)
{
    *n = 0;
    if (H5Aexists(dataset, name) <= 0)
        return NORMA_OK;
    hid_t attribute = H5Aopen(dataset, name, H5P_DEFAULT);
    hid_t type = H5Aget_type(attribute);
    hid_t space = H5Aget_space(attribute);
    const char *refused = norma_h5_refused_type_local(type);
    int64_t found = (int64_t)H5Sget_simple_extent_npoints(space);
    norma_status status = NORMA_OK;
    if (refused)
        status = NORMA_FAIL(NORMA_CONFIG, "%s: %s: attribute %s is %s; real numbers are expected",
                            file, path, name, refused);
    else if (found < 1 || found > most)
        status = NORMA_FAIL(NORMA_CONFIG,
                            "%s: %s: attribute %s holds %" PRId64 " values; expected: 1 to "
                            "%" PRId64,
                            file, path, name, found, most);
    else if (H5Aread(attribute, H5T_NATIVE_DOUBLE, out) < 0)
        status =
            NORMA_H5_FAIL(NORMA_CONFIG, "%s: %s: attribute %s cannot be read", file, path, name);
    else
        *n = found;
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(attribute);
    return status;
}

/* A scale or an offset: one finite number. */
static norma_status read_factor(hid_t dataset, const char *file, const char *path, const char *name,
                                double *out)
{
    int64_t n = 0;
    NORMA_TRY(read_numbers(dataset, file, path, name, 1, out, &n));
    if (n == 1 && !isfinite(*out))
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s: attribute %s is %g; a finite number is expected",
                          file, path, name, *out);
    return NORMA_OK;
}

static norma_status read_missing(hid_t dataset, const char *file, const char *path,
                                 norma_h5_packing *packing)
{
    static const char *const names[] = {"_FillValue", "missing_value"};
    static const char *const rules[] = {"is its _FillValue", "is its missing_value"};
    for (int k = 0; k < 2; k++) {
        int64_t n = 0;
        NORMA_TRY(read_numbers(dataset, file, path, names[k],
                               NORMA_H5_MOST_MISSING - 1 - packing->n_missing,
                               packing->missing + packing->n_missing, &n));
        for (int64_t i = 0; i < n; i++)
            packing->reasons[packing->n_missing++] = rules[k];
    }
    return NORMA_OK;
}

/* The fill value of the dataset itself, where its author chose one. */
static void read_own_fill(hid_t dataset, size_t size, norma_h5_packing *packing)
{
    H5D_fill_value_t defined = H5D_FILL_VALUE_DEFAULT;
    double value = 0;
    hid_t creation = H5Dget_create_plist(dataset);
    if (size > 1 && H5Pfill_value_defined(creation, &defined) >= 0 &&
        defined == H5D_FILL_VALUE_USER_DEFINED &&
        H5Pget_fill_value(creation, H5T_NATIVE_DOUBLE, &value) >= 0 && value != 0) {
        packing->missing[packing->n_missing] = value;
        packing->reasons[packing->n_missing++] =
            "is the fill value of a dataset that was not written there";
    }
    H5Eclear2(H5E_DEFAULT);
    H5Pclose(creation);
}

static norma_status read_range(hid_t dataset, const char *file, const char *path,
                               norma_h5_packing *packing)
{
    double range[2] = {packing->low, packing->high};
    int64_t n = 0;
    NORMA_TRY(read_numbers(dataset, file, path, "valid_range", 2, range, &n));
    if (n == 1)
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s: attribute valid_range holds 1 value, 2 expected",
                          file, path);
    NORMA_TRY(read_numbers(dataset, file, path, "valid_min", 1, &range[0], &n));
    NORMA_TRY(read_numbers(dataset, file, path, "valid_max", 1, &range[1], &n));
    packing->low = range[0];
    packing->high = range[1];
    return NORMA_OK;
}

norma_status norma_h5_packing_read_local(hid_t dataset, const char *file, const char *path,
                                         norma_h5_packing *packing)
{
    char *text = NULL;
    hid_t type = H5Dget_type(dataset);
    size_t size = H5Tget_size(type);
    bool is_integer = H5Tget_class(type) == H5T_INTEGER;
    bool is_signed = is_integer && H5Tget_sign(type) == H5T_SGN_2;
    H5Tclose(type);
    *packing = (norma_h5_packing){.scale = 1,
                                  .low = -INFINITY,
                                  .high = INFINITY,
                                  .single = !is_integer && size <= sizeof(float)};
    NORMA_TRY(read_factor(dataset, file, path, "scale_factor", &packing->scale));
    NORMA_TRY(read_factor(dataset, file, path, "add_offset", &packing->offset));
    NORMA_TRY(read_missing(dataset, file, path, packing));
    NORMA_TRY(read_range(dataset, file, path, packing));
    read_own_fill(dataset, size, packing);
    NORMA_TRY(norma_h5_get_text_local(dataset, "_Unsigned", &text));
    if (text && is_signed && strcmp(text, "true") == 0)
        packing->unsigned_step = ldexp(1, 8 * (int)size);
    norma_mem_free(text);
    return NORMA_OK;
}

/* Why a stored number stands for nothing; NULL when it does not. */
static const char *find_missing(const norma_h5_packing *packing, double value)
{
    for (int k = 0; k < packing->n_missing; k++)
        if (value == packing->missing[k] ||
            (packing->single && (float)value == (float)packing->missing[k]))
            return packing->reasons[k];
    return value < packing->low || value > packing->high ? "is outside its valid range" : NULL;
}

norma_status norma_h5_packing_apply_local(const norma_h5_packing *packing, const char *file,
                                          const char *path, int rank, const int64_t *extents,
                                          int64_t n, double *values)
{
    bool checked = packing->n_missing > 0 || packing->low > -INFINITY || packing->high < INFINITY;
    for (int64_t k = 0; checked && k < n; k++) {
        const char *rule = find_missing(packing, values[k]);
        char text[128];
        if (rule)
            return NORMA_FAIL(
                NORMA_CONFIG, "%s: %s: value %g at %s %s; real data are expected", file, path,
                values[k], norma_h5_format_index_local(rank, extents, k, text, sizeof text), rule);
    }
    for (int64_t k = 0; packing->unsigned_step > 0 && k < n; k++)
        values[k] += values[k] < 0 ? packing->unsigned_step : 0;
    if (packing->scale != 1 || packing->offset != 0)
        for (int64_t k = 0; k < n; k++)
            values[k] = packing->scale * values[k] + packing->offset;
    return NORMA_OK;
}
