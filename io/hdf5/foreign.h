#ifndef NORMA_IO_HDF5_FOREIGN_H
#define NORMA_IO_HDF5_FOREIGN_H
/* Files of other kinds, known by their first bytes: for messages that say what a file is. */
#include <stddef.h>

/* So many bytes tell all kinds apart. */
enum { NORMA_FOREIGN_HEAD = 512 };

/* Names the kind of a file by its first n bytes, with the way to make of it one that is read: "a
 * ZIP archive (...): unpack it"; NULL where it is none of the known kinds. A constant string.
 * Local. */
const char *norma_foreign_describe_local(const unsigned char *head, size_t n);

/* The same for a file; NULL also where it cannot be read. Local. */
const char *norma_foreign_describe_file_local(const char *path);

#endif
