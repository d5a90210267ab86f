/* The functions of libcublas that the executor calls, on the fake driver: a product takes its operations' time. */
#include <stdint.h>
#include <stdlib.h>

extern int fake_product(void *stream, const uint64_t *words);

typedef struct { void *stream; } handle;

int cublasCreate_v2(handle **h) { *h = calloc(1, sizeof **h); return 0; }
int cublasDestroy_v2(handle *h) { free(h); return 0; }
int cublasSetStream_v2(handle *h, void *stream) { h->stream = stream; return 0; }
int cublasSgemm_v2(handle *h, int ta, int tb, int m, int n, int k, const float *alpha, const float *a, int lda, const float *b, int ldb, const float *beta, float *c, int ldc) {
    if (ta || tb || *alpha != 1 || *beta != 0 || lda < m || ldb < k || ldc < m) return 7;
    uint64_t words[7] = { (uint64_t)a, 4ull * lda * k, (uint64_t)b, 4ull * ldb * n, (uint64_t)c, 4ull * ldc * n, 2ull * m * n * k };
    return fake_product(h->stream, words) ? 13 : 0;
}
