#ifndef NORMA_TESTS_FUZZ_FUZZ_FILE_H
#define NORMA_TESTS_FUZZ_FUZZ_FILE_H
/* The bytes of a fuzzing run as a file, and the checks that follow every run. */
#include <stddef.h>
#include <stdint.h>

/* libFuzzer calls this with every input. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Puts the bytes into a file whose name is returned; the next call replaces them. */
const char *fuzz_file(const uint8_t *data, size_t size);

/* Ends the process, which libFuzzer takes for a finding, with a message. */
void fuzz_finding(const char *message);

/* Forgets the recorded failure and ends the process where an allocation is still alive. */
void fuzz_end(void);

#endif
