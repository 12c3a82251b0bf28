/* Lists of names: the members of a group, text attributes of several texts. */
#include "io/hdf5/h5_input_internal.h"
#include "src/base/mem.h"

#include <inttypes.h>
#include <string.h>

/* Names under way into names[n][length]; too_long names the first that does not fit. */
typedef struct listing {
    int64_t n, at;
    int length;
    char *names;
    char too_long[64];
} listing;

static herr_t list_member(hid_t group, const char *name, const H5L_info_t *info, void *context)
{
    listing *l = context;
    (void)group;
    (void)info;
    size_t length = strlen(name);
    if (l->at == l->n || length >= (size_t)l->length) {
        strncat(l->too_long, name, sizeof l->too_long - 1);
        return 1;
    }
    memcpy(l->names + l->at++ * l->length, name, length + 1);
    return 0;
}

norma_status norma_h5_input_members_root(const norma_h5_input *input, const char *group, int64_t n,
                                         int length, char *names)
{
    names[0] = '\0';
    listing l = {.n = n, .length = length, .names = names};
    hsize_t next = 0;
    hid_t id = H5Gopen2(input->file, group, H5P_DEFAULT);
    herr_t result =
        id < 0 ? -1 : H5Literate(id, H5_INDEX_NAME, H5_ITER_INC, &next, list_member, &l);
    if (id >= 0)
        H5Gclose(id);
    if (result > 0)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: %s: the name '%s...' of a member is longer than %d letters",
                          input->name, group, l.too_long, length - 1);
    if (result < 0 || l.at != n)
        return NORMA_H5_FAIL(NORMA_CONFIG, "%s: %s: its members cannot be read", input->name,
                             group);
    return NORMA_OK;
}

/* One text of the attribute into its place, without the blanks at its end. */
static norma_status place_text(const norma_h5_input *input, const char *object, const char *name,
                               const char *text, size_t size, int length, char *out)
{
    size_t n = strnlen(text, size);
    while (n > 0 && text[n - 1] == ' ')
        n--;
    if (n >= (size_t)length)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: %s: attribute %s holds a text of %zu letters, at most %d are "
                          "expected",
                          input->name, object, name, n, length - 1);
    memcpy(out, text, n);
    out[n] = '\0';
    return NORMA_OK;
}

/* The n texts of an open attribute. */
static norma_status read_texts(const norma_h5_input *input, const char *object, const char *name,
                               hid_t attribute, int64_t n, int length, char *out)
{
    norma_status status = NORMA_OK;
    hid_t type = H5Aget_type(attribute);
    hid_t space = H5Aget_space(attribute);
    bool variable = H5Tis_variable_str(type) > 0;
    size_t size = variable ? sizeof(char *) : H5Tget_size(type);
    char *raw = NULL;
    bool held = false;
    NORMA_GOTO(status, NORMA_CALLOC(raw, n * (int64_t)size));
    if (H5Aread(attribute, type, raw) < 0) {
        status = NORMA_H5_FAIL(NORMA_CONFIG, "%s: %s: attribute %s cannot be read", input->name,
                               object, name);
        goto done;
    }
    held = variable;
    for (int64_t k = 0; k < n && status == NORMA_OK; k++) {
        const char *text = raw + k * (int64_t)size;
        size_t most = size;
        if (variable) {
            memcpy(&text, raw + k * (int64_t)size, sizeof text);
            text = text ? text : "";
            most = strlen(text);
        }
        status = place_text(input, object, name, text, most, length, out + k * length);
    }
done:
    if (held)
        H5Dvlen_reclaim(type, space, H5P_DEFAULT, raw);
    NORMA_FREE(raw);
    H5Sclose(space);
    H5Tclose(type);
    return status;
}

norma_status norma_h5_input_texts_root(const norma_h5_input *input, const char *object,
                                       const char *name, int length, int64_t *n, char **out)
{
    hid_t attribute = H5Aopen_by_name(input->file, object, name, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0)
        return NORMA_H5_FAIL(NORMA_CONFIG, "%s: %s: attribute %s cannot be opened", input->name,
                             object, name);
    norma_status status = NORMA_OK;
    char *texts = NULL;
    hid_t space = H5Aget_space(attribute);
    hid_t type = H5Aget_type(attribute);
    int rank = H5Sget_simple_extent_ndims(space);
    *n = (int64_t)H5Sget_simple_extent_npoints(space);
    if (H5Tget_class(type) != H5T_STRING || rank > 1 || *n < 1)
        status = NORMA_FAIL(NORMA_CONFIG, "%s: %s: attribute %s is not a text or a list of texts",
                            input->name, object, name);
    H5Tclose(type);
    H5Sclose(space);
    NORMA_GOTO(status, status);
    NORMA_GOTO(status, NORMA_CALLOC(texts, *n * length));
    NORMA_GOTO(status, read_texts(input, object, name, attribute, *n, length, texts));
    *out = texts;
    texts = NULL;
done:
    NORMA_FREE(texts);
    H5Aclose(attribute);
    return status;
}
