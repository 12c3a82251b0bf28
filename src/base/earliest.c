#include "src/base/earliest.h"

void norma_earliest_sift(norma_earliest *heap, int64_t n)
{
    int64_t at = 0;
    for (;;) {
        int64_t least = at;
        for (int64_t child = 2 * at + 1; child < 2 * at + 3 && child < n; child++)
            if (heap[child].ends < heap[least].ends)
                least = child;
        if (least == at)
            return;
        norma_earliest moved = heap[at];
        heap[at] = heap[least];
        heap[least] = moved;
        at = least;
    }
}
