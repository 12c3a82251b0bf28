#ifndef NORMA_BASE_ROUNDOFF_H
#define NORMA_BASE_ROUNDOFF_H

/* Unit roundoff of FP64, 2^-53. */
#define NORMA_ROUNDOFF 0x1p-53

#endif
