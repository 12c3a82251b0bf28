#ifndef NORMA_EXPERIMENTS_RECONSTRUCT_CONSTRUCT_TEACHER_H
#define NORMA_EXPERIMENTS_RECONSTRUCT_CONSTRUCT_TEACHER_H
/*
 * --construction teacher (EXP23, appendix E): a source pair stands for the first layer of a drawn
 * teacher (src/construct/teacher.h), or with --student for that of a network which was trained on
 * the teacher's outputs. Inputs x ~ N(0, I) are drawn from counters, anew for every replica, as is
 * the teacher; they bound the pre-activations, and on them source and teacher are run.
 */
#include "experiments/reconstruct/setup.h"
#include "src/config/config_option.h"

/* --width --teacher-dist --student. */
extern const norma_option norma_reconstruct_teacher_options[];

/* Is it asked for? Local. */
bool norma_reconstruct_teacher_wanted(const norma_config *config);

/* Settles the law of the source weights: where --keep-probability is given and --source-dist is
 * not, entries of he-normal are dropped. Local, equal on all ranks. */
NORMA_MUST_USE norma_status norma_reconstruct_teacher_settle(norma_config *config);

/* Refuses options that describe other targets or inputs. Local. */
NORMA_MUST_USE norma_status norma_reconstruct_teacher_check_options(const norma_config *config);

/* Reads --student into inputs->student, if it is given. Collective. */
NORMA_MUST_USE norma_status norma_reconstruct_teacher_read(const norma_runtime *runtime,
                                                           const norma_config *config,
                                                           norma_reconstruct_inputs *inputs);

/* Networks and inputs of a cell: cell->random is the teacher, cell->network that or the student.
 * With shapes_only nothing is drawn. Local. */
NORMA_MUST_USE norma_status norma_reconstruct_teacher_init(const norma_config *config,
                                                           const norma_reconstruct_inputs *inputs,
                                                           bool shapes_only,
                                                           norma_reconstruct_cell *cell);

/* The solver that --solver auto stands for: it finds gammas of minimum norm at any width. */
norma_solver norma_reconstruct_teacher_solver(norma_distribution source);

#endif
