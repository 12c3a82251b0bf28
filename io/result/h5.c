#include "io/result/h5.h"

#include "io/result/guard.h"
#include "mpi/runtime/blas.h"
#include "mpi/runtime/log.h"
#include "src/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void norma_h5_prepare_local(void)
{
    static bool prepared;
    if (prepared)
        return;
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    prepared = true;
}

/* The reason as HDF5 gives it: its innermost entries, the most specific first. */
typedef struct h5_reason {
    char text[512];
    size_t length;
    bool locked;
} h5_reason;

enum { REASON_ENTRIES = 2 };

static herr_t collect_reason(unsigned n, const H5E_error2_t *entry, void *data)
{
    h5_reason *reason = data;
    const char *text = entry->desc ? entry->desc : "";
    if (strstr(text, "unable to lock file"))
        reason->locked = true;
    if (n < REASON_ENTRIES && text[0] && reason->length < sizeof reason->text) {
        int used = snprintf(reason->text + reason->length, sizeof reason->text - reason->length,
                            "%s%s", reason->length > 0 ? "; " : "", text);
        if (used > 0)
            reason->length += (size_t)used;
    }
    return 0;
}

norma_status norma_h5_fail_local(norma_status status, const char *file, int line,
                                 const char *format, ...)
{
    char message[NORMA_MESSAGE_LENGTH];
    h5_reason reason = {.text = ""};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect_reason, &reason);
    H5Eclear2(H5E_DEFAULT);
    for (char *c = reason.text; *c; c++)
        if (*c == '\n')
            *c = ' ';
    return norma_status_fail(
        status, file, line, "%s%s%s%s%s", message, reason.text[0] ? " (HDF5: " : "", reason.text,
        reason.text[0] ? ")" : "",
        reason.locked
            ? "; the file is locked by another program, or its file system knows no locks: in the "
              "latter case set HDF5_USE_FILE_LOCKING=FALSE"
            : "");
}

norma_status norma_h5_wrote_local(bool succeeded, const char *file, int line, const char *format,
                                  ...)
{
    char message[NORMA_MESSAGE_LENGTH];
    bool guarded = norma_guard_failed_local();
    norma_status status = NORMA_OK;
    if (succeeded && !guarded)
        return NORMA_OK;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (guarded)
        status = norma_status_fail(NORMA_IO, file, line, "%.700s: %.250s", message,
                                   norma_guard_reason_local());
    else
        status = norma_h5_fail_local(NORMA_IO, file, line, "%s", message);
    norma_guard_clear_local();
    return status;
}

bool norma_h5_exists_local(hid_t file, const char *path)
{
    char part[256];
    size_t length = strlen(path);
    if (strcmp(path, "/") == 0)
        return true;
    if (length >= sizeof part)
        return false;
    for (size_t i = 1; i <= length; i++)
        if (path[i] == '/' || path[i] == '\0') {
            memcpy(part, path, i);
            part[i] = '\0';
            if (H5Lexists(file, part, H5P_DEFAULT) <= 0)
                return false;
        }
    return true;
}

bool norma_h5_is_hdf5_local(const char *path)
{
    static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    unsigned char found[8];
    struct stat about;
    bool is = false;
    int fd = open(path, O_RDONLY | O_NONBLOCK);
    if (fd < 0)
        return false;
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode))
        for (off_t at = 0; !is && at<about.st_size; at = at> 0 ? 2 * at : 512)
            is = pread(fd, found, sizeof found, at) == (ssize_t)sizeof found &&
                 memcmp(found, signature, sizeof found) == 0;
    close(fd);
    return is;
}

norma_status norma_h5_open_local(const char *path, hid_t *id)
{
    struct stat about;
    norma_h5_prepare_local();
    if (stat(path, &about) != 0)
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode))
        return NORMA_FAIL(NORMA_CONFIG, "%s is %s, not an HDF5 file", path,
                          S_ISDIR(about.st_mode) ? "a folder" : "no regular file");
    if (access(path, R_OK) != 0)
        return NORMA_FAIL(NORMA_CONFIG, "%s cannot be read: %s", path, strerror(errno));
    if (about.st_size == 0)
        return NORMA_FAIL(NORMA_CONFIG, "%s is empty, not an HDF5 file", path);
    if (!norma_h5_is_hdf5_local(path))
        return NORMA_FAIL(NORMA_CONFIG, "%s is not an HDF5 file", path);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0)
        return NORMA_H5_FAIL(NORMA_CONFIG, "%s begins as an HDF5 file but cannot be opened", path);
    *id = file;
    return NORMA_OK;
}

hid_t norma_h5_memory_type_local(norma_type type)
{
    switch (type) {
    case NORMA_FLOAT64:
        return H5T_NATIVE_DOUBLE;
    case NORMA_FLOAT32:
        return H5T_NATIVE_FLOAT;
    case NORMA_INT32:
        return H5T_NATIVE_INT32;
    case NORMA_INT64:
        return H5T_NATIVE_INT64;
    case NORMA_NAME:
        break;
    }
    return H5T_NATIVE_INT8;
}

hid_t norma_h5_file_type_local(norma_type type)
{
    switch (type) {
    case NORMA_FLOAT64:
        return H5T_IEEE_F64LE;
    case NORMA_FLOAT32:
        return H5T_IEEE_F32LE;
    case NORMA_INT32:
        return H5T_STD_I32LE;
    case NORMA_INT64:
        return H5T_STD_I64LE;
    case NORMA_NAME:
        break;
    }
    return H5T_STD_I8LE;
}

/* Is there an attribute of this name that takes such values as it is? One of another type or shape
 * is removed. */
static hid_t open_fitting_attribute(hid_t object, const char *name, hid_t file_type, hid_t space)
{
    if (H5Aexists(object, name) <= 0)
        return H5I_INVALID_HID;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    hid_t old_type = H5Aget_type(attribute);
    hid_t old_space = H5Aget_space(attribute);
    bool fits = H5Tequal(old_type, file_type) > 0 && H5Sextent_equal(old_space, space) > 0;
    H5Sclose(old_space);
    H5Tclose(old_type);
    if (!fits) {
        H5Aclose(attribute);
        H5Adelete(object, name);
        attribute = H5I_INVALID_HID;
    }
    return attribute;
}

static norma_status write_attribute(hid_t object, const char *name, hid_t file_type,
                                    hid_t memory_type, int n, const void *values)
{
    norma_status status = NORMA_OK;
    hsize_t length = n > 0 ? (hsize_t)n : 0;
    hid_t space = n < 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &length, NULL);
    hid_t attribute = open_fitting_attribute(object, name, file_type, space);
    if (attribute < 0)
        attribute = H5Acreate2(object, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0 || H5Awrite(attribute, memory_type, values) < 0)
        status = NORMA_H5_FAIL(NORMA_IO, "cannot write attribute %s", name);
    if (attribute >= 0)
        H5Aclose(attribute);
    H5Sclose(space);
    return status;
}

static hid_t create_text_type(void)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    return type;
}

norma_status norma_h5_set_text(hid_t object, const char *name, const char *text)
{
    if (strlen(text) > NORMA_H5_TEXT_LIMIT)
        return NORMA_FAIL(NORMA_LIMIT, "attribute %s: %zu bytes, more than %d", name, strlen(text),
                          NORMA_H5_TEXT_LIMIT);
    hid_t type = create_text_type();
    norma_status status = write_attribute(object, name, type, type, -1, &text);
    H5Tclose(type);
    return status;
}

norma_status norma_h5_set_texts(hid_t object, const char *name, int n, const char *const *texts)
{
    hid_t type = create_text_type();
    norma_status status = write_attribute(object, name, type, type, n, texts);
    H5Tclose(type);
    return status;
}

norma_status norma_h5_set_numbers(hid_t object, const char *name, hid_t file_type,
                                  hid_t memory_type, int n, const void *values)
{
    return write_attribute(object, name, file_type, memory_type, n, values);
}

/* Reads an attribute or a dataset as it is stored. */
static herr_t read_stored(hid_t object, hid_t type, void *out)
{
    return H5Iget_type(object) == H5I_ATTR
               ? H5Aread(object, type, out)
               : H5Dread(object, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out);
}

static norma_status read_string(hid_t object, hid_t type, char **text)
{
    if (H5Tis_variable_str(type) > 0) {
        char *found = NULL;
        if (read_stored(object, type, &found) < 0)
            return NORMA_H5_FAIL(NORMA_CONFIG, "cannot read a text");
        *text = norma_mem_strdup(found ? found : "");
        H5free_memory(found);
        return *text ? NORMA_OK : NORMA_MEMORY;
    }
    size_t size = H5Tget_size(type);
    char *fixed = NULL;
    NORMA_TRY(NORMA_CALLOC(fixed, (int64_t)size + 1));
    if (read_stored(object, type, fixed) < 0) {
        norma_mem_free(fixed);
        return NORMA_H5_FAIL(NORMA_CONFIG, "cannot read a text");
    }
    *text = fixed;
    return NORMA_OK;
}

/* Takes over `type` and `space` of the object. */
static norma_status read_text(hid_t object, hid_t type, hid_t space, char **text)
{
    norma_status status = NORMA_OK;
    if (H5Tget_class(type) == H5T_STRING && H5Sget_simple_extent_npoints(space) == 1)
        status = read_string(object, type, text);
    H5Sclose(space);
    H5Tclose(type);
    return status;
}

norma_status norma_h5_get_text_local(hid_t object, const char *name, char **text)
{
    *text = NULL;
    if (H5Aexists(object, name) <= 0)
        return NORMA_OK;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    norma_status status =
        read_text(attribute, H5Aget_type(attribute), H5Aget_space(attribute), text);
    H5Aclose(attribute);
    return status;
}

norma_status norma_h5_read_text_local(hid_t dataset, char **text)
{
    *text = NULL;
    return read_text(dataset, H5Dget_type(dataset), H5Dget_space(dataset), text);
}

void norma_h5_warn_of_kernel_local(hid_t file, const char *path)
{
    char *kernel = NULL;
    if (norma_h5_get_text_local(file, "blas_kernel", &kernel) == NORMA_OK && kernel &&
        strcmp(kernel, norma_blas_kernel_local()) != 0)
        norma_log_news("warning: %s was made with BLAS kernels %s, and %s are in use now: last "
                       "bits may differ",
                       path, kernel, norma_blas_kernel_local());
    norma_mem_free(kernel);
}
