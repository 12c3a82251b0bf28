#ifndef NORMA_IO_RESULT_RESULT_CLAIM_H
#define NORMA_IO_RESULT_RESULT_CLAIM_H
/* Whose FILE.part is it? Two runs with the same output must not write into one file. */
#include "io/result/result_internal.h"

/* NORMA_CONFIG when a process of this host (one whose open files we may see) has `part`, the
 * FILE.part of `path`, open. */
NORMA_MUST_USE norma_status norma_claim_check_writer_root(const char *path, const char *part);

/* Rank 0 opens a new FILE.part as file->descriptor. One that a dead run left is removed; otherwise
 * as norma_claim_check_writer_root. A run on another host cannot be seen: it loses the name, and
 * hears of it from norma_claim_check_root. */
NORMA_MUST_USE norma_status norma_claim_part_root(norma_result *file);

/* Is FILE.part still the file that we write? */
bool norma_claim_holds_root(const norma_result *file);

/* NORMA_IO when it is not. */
NORMA_MUST_USE norma_status norma_claim_check_root(const norma_result *file);

/* Can this rank open FILE.part? Asked before MPI-IO opens it, which hangs when some ranks can and
 * others cannot. NORMA_IO naming the host. */
NORMA_MUST_USE norma_status norma_claim_check_reach_local(const norma_result *file);

/* Closes the descriptor, if there is one. */
void norma_claim_release_root(norma_result *file);

#endif
