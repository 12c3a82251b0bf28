/*
 * mpi/layer/layer_solve: one suite for all solvers. Every answer is compared with the
 * pseudo-inverse of the system written down by its definition (LAPACK's SVD), which no number of
 * ranks changes.
 */
#include "tests/mpi/layer_problem.h"
#include "tests/mpi/pseudo_inverse.h"

#include "mpi/runtime/log.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Column J of KR by the definition. */
static void kr_column(const fixture *f, int64_t J, double *column)
{
    const norma_khatri_rao_shape *s = &f->problem.shape;
    for (int64_t I = 0; I < f->n; I++)
        column[I] = fixture_kr(s, f->second + J * norma_khatri_rao_width_second(s),
                               f->first + J * norma_khatri_rao_width_first(s), I);
}

/* Outer skip, min rule: gamma2 multiplies the skip, and nothing closes the system. */
static bool is_inside(const fixture *f)
{
    return f->problem.width == NORMA_WIDTH_MIN && f->problem.residual == NORMA_RESIDUAL_OUTER;
}

/* Entry I of the expected diag(gamma2) KR gamma1; the target itself where gamma2 multiplies Ws. */
static double wanted(const fixture *f, int64_t I)
{
    return f->target[I] - (f->skip && !is_inside(f) ? f->skip[I] : 0);
}

/* The entry of row i (of `length` entries) that is largest in magnitude. */
static int64_t find_pivot(const fixture *f, int64_t i, int64_t length)
{
    int64_t pivot = i * length;
    for (int64_t I = i * length; I < (i + 1) * length; I++)
        pivot = fabs(wanted(f, I)) > fabs(wanted(f, pivot)) ? I : pivot;
    return pivot;
}

/* The rows of M (min: pivots eliminated) of the leading n_used columns, [n_used][n_rows + 1], and,
 * closed, in the last row what closes it. Returns the number of rows of M. */
static int64_t write_system(const fixture *f, int64_t n_used, double *matrix, double *rhs)
{
    int64_t c2 = f->problem.shape.n_channels_out;
    int64_t length = f->n / c2;
    bool min = f->problem.width == NORMA_WIDTH_MIN;
    bool closed = min && !is_inside(f);
    int64_t n_rows = min ? f->n - c2 : f->n;
    int64_t stride = n_rows + (closed ? 1 : 0);
    double *column = fixture_alloc(f->n);
    double squares = 0;
    for (int64_t J = 0; J < n_used; J++) {
        double *out = matrix + J * stride;
        kr_column(f, J, column);
        for (int64_t i = 0; i < c2; i++) {
            int64_t pivot = find_pivot(f, i, length);
            for (int64_t I = i * length; I < (i + 1) * length; I++) {
                if (!min)
                    *out++ = column[I];
                else if (I != pivot)
                    *out++ = column[I] - wanted(f, I) / wanted(f, pivot) * column[pivot];
            }
        }
        for (int64_t r = 0; r < n_rows; r++)
            squares += matrix[J * stride + r] * matrix[J * stride + r];
    }
    double closing = n_rows > 0 ? sqrt(squares / (double)(n_rows * n_used)) : 1;
    for (int64_t J = 0; closed && J < n_used; J++)
        matrix[J * stride + n_rows] = closing;
    double *c = rhs;
    for (int64_t I = 0; I < f->n; I++) {
        int64_t pivot = find_pivot(f, I / length, length);
        if (!min)
            *c++ = wanted(f, I);
        else if (I != pivot)
            *c++ = is_inside(f) ? f->target[I] / f->target[pivot] * f->skip[pivot] - f->skip[I] : 0;
    }
    if (closed)
        *c = closing;
    NORMA_FREE(column);
    return n_rows;
}

/* gamma2 and the root mean square error of a gamma1, by the definition; with `given` the error of
 * that gamma2. */
static double reconstruct(const fixture *f, const double *gamma1, const double *given,
                          double *gamma2)
{
    int64_t c2 = f->problem.shape.n_channels_out;
    int64_t length = f->n / c2;
    double *column = fixture_alloc(f->n);
    double *sum = fixture_alloc(f->n);
    double squares = 0;
    for (int64_t J = 0; J < f->problem.n_features; J++) {
        kr_column(f, J, column);
        for (int64_t I = 0; I < f->n; I++)
            sum[I] += gamma1[J] * column[I];
    }
    for (int64_t i = 0; i < c2; i++) {
        int64_t pivot = find_pivot(f, i, length);
        for (int64_t I = i * length; is_inside(f) && I < (i + 1) * length; I++)
            sum[I] += f->skip[I];
        gamma2[i] = f->problem.width == NORMA_WIDTH_MAX ? 1 : wanted(f, pivot) / sum[pivot];
        if (given)
            gamma2[i] = given[i];
        for (int64_t I = i * length; I < (i + 1) * length; I++)
            squares += pow(gamma2[i] * sum[I] - wanted(f, I), 2);
    }
    NORMA_FREE(column);
    NORMA_FREE(sum);
    return sqrt(squares / (double)f->n);
}

static double norm(const double *a, int64_t n)
{
    double squares = 0;
    for (int64_t e = 0; e < n; e++)
        squares += a[e] * a[e];
    return sqrt(squares);
}

/* A solver that states its answer owes the truth: the error of the gamma that it gives. */
static bool states_the_truth(const fixture *f, const norma_layer_solution *s)
{
    double *gamma2 = fixture_alloc(f->problem.shape.n_channels_out);
    double rmse = reconstruct(f, s->gamma1, s->gamma2, gamma2);
    NORMA_FREE(gamma2);
    return norma_test_close(s->rmse, rmse, 1e-9, s->floor);
}

/* True when the solution agrees with the pseudo-inverse of the features that the solver used, which
 * rank 0 computes for all. */
static bool agrees(const fixture *f, const norma_layer_solution *s)
{
    int64_t n_used = s->n_used;
    int64_t c1 = f->problem.n_features;
    double *matrix = fixture_alloc(n_used * (f->n + 1));
    double *rhs = fixture_alloc(f->n + 1);
    double *x = fixture_alloc(c1);
    double *gamma2 = fixture_alloc(f->problem.shape.n_channels_out);
    int64_t n_rows = write_system(f, n_used, matrix, rhs);
    bool closed = f->problem.width == NORMA_WIDTH_MIN && !is_inside(f);
    int64_t n_system = n_rows + (closed ? 1 : 0);
    double conditions[2] = {NAN, NAN}; /* of the system, of M */
    if (norma_test_runtime->rank == 0) {
        conditions[0] = pseudo_inverse(matrix, n_system, n_system, n_used, rhs, x);
        if (n_rows > 0)
            conditions[1] = pseudo_inverse(matrix, n_rows, n_system, n_used, NULL, NULL);
    }
    MPI_Bcast(conditions, 2, MPI_DOUBLE, 0, norma_test_runtime->world);
    MPI_Bcast(x, (int)c1, MPI_DOUBLE, 0, norma_test_runtime->world);
    double solved = conditions[0];
    double of_m = conditions[1];
    double sum = 0;
    for (int64_t J = 0; J < c1; J++)
        sum += x[J];
    for (int64_t J = 0; closed && J < c1; J++)
        x[J] /= sum;
    double tolerance = fmax(1e-9, 10 * solved * DBL_EPSILON);
    double rmse = reconstruct(f, s->gamma1, NULL, gamma2);
    bool good = norma_test_max_difference(s->gamma1, x, c1) <= tolerance * norm(x, c1);
    for (int64_t i = 0; i < f->problem.shape.n_channels_out; i++)
        good = good && norma_test_close(s->gamma2[i], gamma2[i], 1e-9, 0);
    good = good && norma_test_close(s->condition_number_solved, solved, 1e-3, 0);
    good = good && (n_rows > 0 ? norma_test_close(s->condition_number, of_m, 1e-3, 0)
                               : isnan(s->condition_number));
    good = good && s->n_rows == n_rows && s->n_minimum == n_system && s->n_features == c1;
    if (s->least_squares)
        good = good && norma_test_close(s->rmse, rmse, 1e-9, 0) && s->relative_gradient <= 1e-12;
    else /* at the floor, whoever measures */
        good = good && rmse <= s->floor && s->rmse <= s->floor && isnan(s->relative_gradient);
    if (!good && norma_test_runtime->rank == 0)
        fprintf(stderr, "condition %g (%g), of M %g (%g), rmse %g = %g, floor %g\n",
                s->condition_number_solved, solved, s->condition_number, of_m, s->rmse, rmse,
                s->floor);
    NORMA_FREE(matrix);
    NORMA_FREE(rhs);
    NORMA_FREE(x);
    NORMA_FREE(gamma2);
    return good;
}

/* Every rank holds the same bits. */
static bool is_replicated(const norma_layer_solution *s, int64_t c2)
{
    norma_layer_solution other = *s;
    double *gamma = fixture_alloc(s->n_features + c2);
    MPI_Comm world = norma_test_runtime->world;
    memcpy(gamma, s->gamma1, (size_t)s->n_features * sizeof *gamma);
    memcpy(gamma + s->n_features, s->gamma2, (size_t)c2 * sizeof *gamma);
    MPI_Bcast(gamma, (int)(s->n_features + c2), MPI_DOUBLE, 0, world);
    MPI_Bcast(&other, (int)sizeof other, MPI_BYTE, 0, world);
    bool same = memcmp(gamma, s->gamma1, (size_t)s->n_features * 8) == 0 &&
                memcmp(gamma + s->n_features, s->gamma2, (size_t)c2 * 8) == 0 &&
                memcmp(&other.rmse, &s->rmse, sizeof s->rmse) == 0 &&
                memcmp(&other.condition_number, &s->condition_number, 8) == 0 &&
                other.iterations == s->iterations && other.grid_columns == s->grid_columns;
    NORMA_FREE(gamma);
    return same;
}

/* With NORMA_TEST_TABLE in the environment: one line of the table of conformance. */
static void print_row(const fixture *f, int shape, norma_solver asked, const char *damage,
                      const norma_layer_solution *s)
{
    if (!getenv("NORMA_TEST_TABLE") || norma_test_runtime->rank > 0)
        return;
    printf("%d ranks %-6s c2 %2lld c0 %2lld split %-7s rule %s c1 %3lld minimum %3lld %-8s ",
           norma_test_runtime->size, norma_solver_name(asked), (long long)shapes[shape].c2,
           (long long)shapes[shape].c0, shapes[shape].split, norma_width_name(f->problem.width),
           (long long)f->problem.n_features, (long long)f->n_minimum, damage);
    if (!s)
        printf("refused\n");
    else if (s->least_squares)
        printf("least squares, gradient %.1e rank %lld\n", s->relative_gradient,
               (long long)s->numerical_rank);
    else
        printf("rmse/floor %.3f grid %dx%d\n", s->rmse / s->floor, s->grid_rows, s->grid_columns);
}

/* Chebyshev takes most of the iterations, and test_chebyshev.c solves the same shapes on several
 * ranks. Here it runs on one rank, with the argument `all` on any number. */
static bool is_taken(norma_solver solver)
{
    return solver != NORMA_SOLVER_CHEBYSHEV || norma_test_runtime->size == 1 || norma_test_all;
}

static void check(norma_solver solver, int shape, norma_width width, norma_residual residual,
                  int64_t excess)
{
    if (!is_taken(solver))
        return;
    fixture f = fixture_create_residual(shape, width, residual, excess);
    norma_solver_options options = {.solver = solver, .block_size = 8, .seed = 7};
    norma_layer_solution s;
    bool direct = norma_solver_describe(solver)->square;
    if (direct && f.problem.n_features < f.n_minimum) {
        norma_test_fails_all(norma_layer_solve(norma_test_runtime->world, &f.problem, &options, &s),
                             NORMA_CONFIG, "krylov, chebyshev, qr and svd");
        print_row(&f, shape, solver, "", NULL);
        fixture_destroy(&f);
        return;
    }
    norma_status status = norma_layer_solve(norma_test_runtime->world, &f.problem, &options, &s);
    if (norma_solver_describe(solver)->well_conditioned && excess == 0 &&
        norma_test_contains(norma_status_error()->message, "use krylov")) {
        norma_test_check_all(status == NORMA_NUMERIC);
        norma_status_clear();
        fixture_destroy(&f);
        return;
    }
    norma_test_ok_all(status);
    bool off =
        norma_solver_describe(solver)->states_answer && (s.least_squares || s.rmse > s.floor);
    bool good = off ? states_the_truth(&f, &s) : agrees(&f, &s);
    if (!good && norma_test_runtime->rank == 0)
        fprintf(stderr, "in %s, shape %d, %s rule, residual %s, excess %lld\n",
                norma_solver_name(s.solver), shape, norma_width_name(width),
                norma_residual_name(residual), (long long)excess);
    norma_test_check_all(good);
    print_row(&f, shape, solver, norma_residual_name(residual), &s);
    norma_test_check_all(s.numerical_rank == (s.n_used < f.n_minimum ? s.n_used : f.n_minimum));
    if (direct && s.n_rows >= 100) /* refinement has something to refine */
        norma_test_check_all(s.iterations >= 1);
    norma_test_check_all(is_replicated(&s, f.problem.shape.n_channels_out));
    norma_test_check_all((solver == NORMA_SOLVER_AUTO ? s.solver != solver : s.solver == solver) &&
                         s.grid_rows * s.grid_columns + s.n_idle == norma_test_runtime->size);
    norma_layer_solution_clear(&s);
    fixture_destroy(&f);
}

static int64_t n_equations(int shape)
{
    norma_khatri_rao_shape s =
        fixture_shape(shapes[shape].c2, shapes[shape].c0, shapes[shape].split, shapes[shape].height,
                      shapes[shape].width);
    return norma_khatri_rao_n_rows(&s);
}

static void test_all_solvers_all_shapes(void **state)
{
    (void)state;
    norma_log_set_level_local(NORMA_LOG_QUIET); /* what auto chooses is no news here */
    for (int64_t solver = 0; solver < norma_solver_names.n; solver++) {
        /* The largest shape costs most, and auto takes lu or krylov there too. */
        int n_tested = (norma_solver)solver == NORMA_SOLVER_AUTO ? n_shapes - 1 : n_shapes;
        for (int shape = 0; shape < n_tested; shape++) {
            for (int width = 0; width < NORMA_N_WIDTHS; width++) {
                int64_t n = n_equations(shape);
                norma_residual none = NORMA_RESIDUAL_NONE;
                check((norma_solver)solver, shape, (norma_width)width, none, 0);
                check((norma_solver)solver, shape, (norma_width)width, none, 1 + n / 5);
                if (n > 2)
                    check((norma_solver)solver, shape, (norma_width)width, none, -(n / 3));
            }
        }
    }
}

/* Beside a skip connection, in front of gamma2 and behind it. */
static void test_all_solvers_residual(void **state)
{
    (void)state;
    static const int with_skip[] = {2, 3, 5}; /* rows of one entry: see below */
    for (int64_t solver = 0; solver < norma_solver_names.n; solver++) {
        for (int k = 0; k < 3; k++) {
            int64_t n = n_equations(with_skip[k]);
            for (int pair = 0; pair < 2 * NORMA_N_WIDTHS; pair++) {
                norma_width width = (norma_width)(pair / 2);
                norma_residual residual = pair % 2 ? NORMA_RESIDUAL_OUTER : NORMA_RESIDUAL_INNER;
                check((norma_solver)solver, with_skip[k], width, residual, 0);
                check((norma_solver)solver, with_skip[k], width, residual, 1 + n / 5);
                check((norma_solver)solver, with_skip[k], width, residual, -(n / 3));
            }
        }
    }
}

/* A skip that is the target in one channel: that channel leaves the min rule's inner system. */
static void test_skip_equal_to_target(void **state)
{
    (void)state;
    for (int64_t solver = 0; solver < norma_solver_names.n; solver++) {
        fixture f = fixture_create_residual(3, NORMA_WIDTH_MIN, NORMA_RESIDUAL_INNER, 0);
        int64_t length = f.n / f.problem.shape.n_channels_out;
        norma_solver_options options = {.solver = (norma_solver)solver, .block_size = 8};
        norma_layer_solution s;
        memcpy(f.skip + length, f.target + length, (size_t)length * sizeof *f.skip);
        norma_test_ok_all(norma_layer_solve(norma_test_runtime->world, &f.problem, &options, &s));
        norma_test_check_all(s.gamma2[1] == 0 && s.gamma2[0] != 0 && s.gamma2[2] != 0);
        norma_test_check_all(s.n_minimum == f.n_minimum - (length - 1) &&
                             s.n_rows == s.n_minimum - 1 && s.rmse <= s.floor);
        norma_layer_solution_clear(&s);
        fixture_destroy(&f);
    }
}

/* A target far smaller than its skip, and the other way round: nothing leaves the range. */
static void test_unequal_sizes(void **state)
{
    (void)state;
    for (int k = 0; k < 4 * NORMA_N_WIDTHS; k++) {
        norma_residual residual = k % 2 ? NORMA_RESIDUAL_OUTER : NORMA_RESIDUAL_INNER;
        fixture f = fixture_create_residual(2, (norma_width)(k / 4), residual, 3);
        norma_solver_options options = {.solver = NORMA_SOLVER_KRYLOV};
        norma_layer_solution s;
        for (int64_t I = 0; I < f.n; I++)
            *(k % 4 < 2 ? &f.target[I] : &f.skip[I]) *= 0x1p-400;
        if (k % 4 < 2 && !is_inside(&f)) /* no digit of the target survives Wt - Ws */
            norma_test_fails_all(
                norma_layer_solve(norma_test_runtime->world, &f.problem, &options, &s),
                NORMA_NUMERIC, "rounding");
        else {
            norma_test_ok_all(
                norma_layer_solve(norma_test_runtime->world, &f.problem, &options, &s));
            norma_test_check_all(s.rmse <= s.floor && isfinite(s.floor));
            norma_layer_solution_clear(&s);
        }
        fixture_destroy(&f);
    }
}

typedef enum damage { REPEATED, ZERO } damage;

/* True when the solver must answer for a layer with feature 1 equal to feature 0, or with feature 1
 * zero. */
static bool owes_answer(norma_solver solver, norma_width width, int64_t excess, damage kind)
{
    if (excess <= 0 && kind == ZERO && width == NORMA_WIDTH_MIN)
        return false; /* the zero feature alone solves M gamma1 = 0, and no pivot */
    if (excess == 0)
        return norma_solver_describe(solver)->any_rank;
    if (excess > 0)
        return !norma_solver_describe(solver)->square;
    return !norma_solver_describe(solver)->square && solver != NORMA_SOLVER_QR;
}

static void check_deficient(norma_solver solver, norma_width width, int64_t excess, damage kind)
{
    fixture f = fixture_create(3, width, excess);
    norma_solver_options options = {.solver = solver, .block_size = 8, .seed = 7};
    norma_layer_solution s = {0};
    int64_t n_first = norma_khatri_rao_width_first(&f.problem.shape);
    int64_t n_second = norma_khatri_rao_width_second(&f.problem.shape);
    for (int64_t e = 0; e < n_first; e++)
        f.first[n_first + e] = kind == ZERO ? 0 : f.first[e];
    for (int64_t e = 0; e < n_second; e++)
        f.second[n_second + e] = kind == ZERO ? 0 : f.second[e];
    norma_status status = norma_layer_solve(norma_test_runtime->world, &f.problem, &options, &s);
    bool owes = owes_answer(solver, width, excess, kind);
    bool good = owes ? status == NORMA_OK && agrees(&f, &s)
                     : status == NORMA_NUMERIC || status == NORMA_CONFIG;
    if (norma_solver_describe(solver)->states_answer)
        good = status == NORMA_OK ? states_the_truth(&f, &s) : status == NORMA_NUMERIC;
    if (!good && norma_test_runtime->rank == 0)
        fprintf(stderr, "%s, %s rule, excess %lld, damage %d: status %d %s\n",
                norma_solver_name(solver), norma_width_name(width), (long long)excess, (int)kind,
                (int)status, norma_status_error()->message);
    norma_test_check_all(good);
    print_row(&f, 3, solver, kind == ZERO ? "zero" : "repeated", owes ? &s : NULL);
    norma_status_clear();
    norma_layer_solution_clear(&s);
    fixture_destroy(&f);
}

/* A deficient rank: an answer of minimum norm or a failure, never a huge gamma. */
static void test_deficient_rank(void **state)
{
    (void)state;
    static const int64_t excesses[] = {-11, 0, 12};
    for (int64_t solver = 0; solver < norma_solver_names.n; solver++)
        for (int width = 0; width < NORMA_N_WIDTHS; width++)
            for (int e = 0; e < 3; e++)
                for (int kind = REPEATED; kind <= ZERO; kind++)
                    if ((norma_solver)solver != NORMA_SOLVER_AUTO &&
                        (!norma_solver_describe((norma_solver)solver)->square || kind == REPEATED))
                        check_deficient((norma_solver)solver, (norma_width)width, excesses[e],
                                        (damage)kind);
}

/* The singular values of svd are exact; those that lu and qr measure by Lanczos agree. */
static void test_condition_numbers(void **state)
{
    (void)state;
    MPI_Comm world = norma_test_runtime->world;
    for (int width = 0; width < NORMA_N_WIDTHS; width++) {
        fixture f = fixture_create(6, (norma_width)width, 0);
        norma_solver_options options = {.solver = NORMA_SOLVER_SVD, .block_size = 8};
        norma_layer_solution exact;
        norma_layer_solution s;
        norma_test_ok_all(norma_layer_solve(world, &f.problem, &options, &exact));
        for (int solver = 0; solver < 2; solver++) {
            options.solver = solver == 0 ? NORMA_SOLVER_LU : NORMA_SOLVER_QR;
            norma_test_ok_all(norma_layer_solve(world, &f.problem, &options, &s));
            norma_test_check_all(norma_test_close(s.sigma_max, exact.sigma_max, 1e-8, 0) &&
                                 norma_test_close(s.sigma_min, exact.sigma_min, 1e-7, 0) &&
                                 norma_test_close(s.condition_number_solved,
                                                  exact.condition_number_solved, 1e-7, 0));
            norma_layer_solution_clear(&s);
        }
        norma_layer_solution_clear(&exact);
        fixture_destroy(&f);
    }
}

/* Where no rank has the memory for all of the matrix, ScaLAPACK decomposes it on all ranks. */
static void test_spread_decomposition(void **state)
{
    (void)state;
    const int shape = 5;
    int64_t n = n_equations(shape);
    for (int width = 0; width < NORMA_N_WIDTHS; width++)
        for (int64_t excess = -(n / 3); excess <= n / 3; excess += n / 3) {
            fixture f = fixture_create(shape, (norma_width)width, excess);
            norma_solver_options options = {
                .solver = NORMA_SOLVER_SVD, .block_size = 8, .memory_per_rank = 1};
            norma_layer_solution s;
            norma_test_ok_all(
                norma_layer_solve(norma_test_runtime->world, &f.problem, &options, &s));
            norma_test_check_all(agrees(&f, &s));
            norma_test_check_all((s.grid_rows * s.grid_columns > 1) ==
                                 (norma_test_runtime->size > 1));
            norma_layer_solution_clear(&s);
            fixture_destroy(&f);
        }
}

/* Blocks larger than the matrix, of one row, and the default. */
static void test_any_block_size(void **state)
{
    (void)state;
    static const int64_t blocks[] = {1, 7, 1000, 0};
    for (int b = 0; b < 4; b++) {
        fixture f = fixture_create(3, NORMA_WIDTH_MIN, 0);
        norma_solver_options options = {.solver = NORMA_SOLVER_LU, .block_size = blocks[b]};
        norma_layer_solution s;
        norma_test_ok_all(norma_layer_solve(norma_test_runtime->world, &f.problem, &options, &s));
        norma_test_check_all(agrees(&f, &s));
        norma_layer_solution_clear(&s);
        fixture_destroy(&f);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_all_solvers_all_shapes), cmocka_unit_test(test_all_solvers_residual),
    cmocka_unit_test(test_skip_equal_to_target),   cmocka_unit_test(test_unequal_sizes),
    cmocka_unit_test(test_deficient_rank),         cmocka_unit_test(test_condition_numbers),
    cmocka_unit_test(test_any_block_size),         cmocka_unit_test(test_spread_decomposition),
};

norma_test_main_mpi("mpi.solvers", tests)
