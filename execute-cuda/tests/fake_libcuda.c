/* A driver made for the tests: the functions of libcuda.so.1 that the executor calls, on the memory of the host.
 *
 * Commands are kept in queues, one a stream, and executed only when the host waits; the stream made last goes first, so that a
 * missing dependency shows. Time is simulated: an op takes its nanoseconds, a copy FAKE_LATENCY_NS + bytes / FAKE_RATE (GB/s),
 * and times on different GPUs do not compare. The kernels do what kernels.ptx says. Whatever CUDA forbids ends in an error:
 * a wait across contexts for timing, a record of an outer event outside of a capture, a stream that does not join a capture,
 * memory that was freed or is too small. What the host writes arrives when it waits for the GPU. A gate (hold_back) keeps a
 * stream back until the host opens it; if the host waits for such a stream, the gate's limit passes.
 *
 * FAKE_GPUS (1), FAKE_VERSION (12050), FAKE_GFLOPS (1000), FAKE_MEMORY (1 GiB), FAKE_PEER (1: GPUs reach each other), FAKE_FAIL (name of a function that fails), FAKE_FAIL_AFTER
 * (one that fails once, after so many calls), FAKE_STRICT (1: a gate whose limit passes ends the process),
 * FAKE_DRIFT_PPM (0: how much faster the clock of each GPU is than that of the one
 * before it), FAKE_CALL_NS (0: what each call takes of the host; nothing begins before it was issued), FAKE_QUEUE (commands that a stream
 * takes in before the host waits), FAKE_CORRUPT (copies move nothing), FAKE_BUSY (so many looks at an event until anything is executed), FAKE_TRACE (a file
 * that gets the name of each call).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int result;
enum { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_HANDLE = 400, NOT_READY = 600, PEER_ENABLED = 704, CAPTURE = 900 };

typedef struct { int gpu; } context;
typedef struct { int gpu, timed, done_count, recorded_count, in_capture; double at; } event;
typedef enum { RECORD, WAIT, KERNEL, COPY, PRODUCT, HOLD } kind;
typedef struct { kind kind; event *event; int count, external; double issued; uint64_t words[7], target, source, bytes; } command;
typedef struct stream { int gpu, capturing, alive; double at; command *commands; size_t first, last, room; struct stream *next; } stream;
typedef struct { stream **streams; command *commands; size_t count, room; } graph;
typedef struct block { uint64_t start, bytes; int gpu; struct block *next; } block;

static context contexts[16];
static context *current;
static stream *streams;
static block *blocks;
static graph *capture;
static uint64_t used[16];
static long looks;
static double host_now;
static uint64_t host_words;
static char hold_back[16];
/* The gates that were not passed yet, and when the host opened them (or -1). */
static struct { uint64_t *words, step; double opened; } gates[1024];
static size_t gate_count;
static void host_goes_on(void);

static double setting(const char *name, double otherwise) { char *text = getenv(name); return text ? atof(text) : otherwise; }
static int fails(const char *name) {
    static long calls;
    char *text = getenv("FAKE_FAIL"), *after = getenv("FAKE_FAIL_AFTER");
    size_t length = strlen(name);
    if (after && !strncmp(after, name, length) && after[length] == ' ') return calls++ == atol(after + length);
    return text && !strcmp(text, name);
}
#define CALL(name) do { char *path = getenv("FAKE_TRACE"); if (path) { FILE *file = fopen(path, "a"); fprintf(file, "%s\n", #name); fclose(file); } \
    host_goes_on(); if (fails(#name)) return 999; } while (0)

static void host_goes_on(void) {
    for (size_t i = 0; i < gate_count; i++) if (gates[i].opened < 0 && gates[i].words[0] >= gates[i].step) gates[i].opened = host_now;
    host_now += setting("FAKE_CALL_NS", 0) * 1e-9;
}

/* The block that holds a range of memory. */
static block *holder(uint64_t start, uint64_t bytes) {
    for (block *b = blocks; b; b = b->next) if (b->start <= start && start + bytes <= b->start + b->bytes) return b;
    fprintf(stderr, "fake driver: %llu bytes at %llx are not allocated\n", (unsigned long long)bytes, (unsigned long long)start);
    abort();
}

static void kernel(stream *s, uint64_t *w) {
    uint64_t *control = (uint64_t *)w[5], *table = (uint64_t *)w[1];
    if (holder(w[5], 32)->gpu != s->gpu) abort();
    for (uint32_t i = 0; i < (uint32_t)w[2]; i++) {
        holder((uint64_t)(table + 2 * i), 16);
        if (holder(table[2 * i], 8)->gpu != s->gpu) abort();
        if (*(uint64_t *)table[2 * i] != table[2 * i + 1] + control[0]) { control[2]++; control[3] = w[6]; }
    }
    if (!control[1]) s->at += w[0] * 1e-9;
    table = (uint64_t *)w[3];
    for (uint32_t i = 0; i < (uint32_t)w[4]; i++) {
        holder((uint64_t)(table + 2 * i), 16);
        holder(table[2 * i], 8);
        *(uint64_t *)table[2 * i] = table[2 * i + 1] + control[0];
    }
}

static int step(stream *s) {
    if (s->first == s->last) return 0;
    command *c = &s->commands[s->first];
    if (c->issued > s->at) s->at = c->issued;
    switch (c->kind) {
    case WAIT:
        if (c->event->done_count < c->count) return 0;
        if (c->event->at + (c->event->gpu != s->gpu) * 2e-6 > s->at) s->at = c->event->at + (c->event->gpu != s->gpu) * 2e-6;
        break;
    case RECORD: c->event->at = s->at; c->event->done_count = c->count; break;
    case KERNEL: kernel(s, c->words); break;
    case HOLD:
        for (size_t i = 0; i < gate_count; i++) if (gates[i].words == (uint64_t *)c->words[0] && gates[i].step == c->words[1]) {
            if (gates[i].opened < 0) {
                if (gates[i].words[0] < gates[i].step) return 0;
                gates[i].opened = host_now;
            }
            if (gates[i].opened > s->at) s->at = gates[i].opened;
            gates[i] = gates[--gate_count];
            break;
        }
        break;
    case PRODUCT:
        for (int i = 0; i < 6; i += 2) if (holder(c->words[i], c->words[i + 1])->gpu != s->gpu) abort();
        s->at += c->words[6] * 1e-9 / setting("FAKE_GFLOPS", 1000);
        break;
    case COPY:
        holder(c->target, c->bytes);
        holder(c->source, c->bytes);
        if (!getenv("FAKE_CORRUPT")) memmove((void *)c->target, (void *)c->source, c->bytes);
        s->at += setting("FAKE_LATENCY_NS", 1000) * 1e-9 + c->bytes * 1e-9 / setting("FAKE_RATE", 10);
        break;
    }
    s->first++;
    return 1;
}

static void run_all(void) {
    for (int moved = 1; moved;) {
        moved = 0;
        for (stream *s = streams; s; s = s->next) while (step(s)) moved = 1;
    }
}

/* The host waits: gates that it cannot open any more open by themselves. */
static void run_in_the_end(void) {
    run_all();
    for (stream *s = streams; s; s = s->next) {
        command *c = s->first == s->last ? NULL : &s->commands[s->first];
        if (!c || c->kind != HOLD) continue;
        if (setting("FAKE_STRICT", 0)) { fprintf(stderr, "fake driver: nobody opened a gate\n"); abort(); }
        double passed = s->at + c->words[2] * 1e-9;
        ((uint64_t *)c->words[0])[1] = c->words[1];
        for (size_t i = 0; i < gate_count; i++) if (gates[i].words == (uint64_t *)c->words[0] && gates[i].step == c->words[1]) gates[i].opened = passed;
        if (passed > host_now) host_now = passed;
        run_all();
    }
}

static void push(stream *s, command c) {
    c.issued = host_now;
    if (s->last - s->first >= (size_t)setting("FAKE_QUEUE", 1e9)) run_all();
    if (s->last - s->first >= (size_t)setting("FAKE_QUEUE", 1e9)) run_in_the_end();
    if (s->last == s->room) {
        s->room = s->room ? 2 * s->room : 64;
        s->commands = realloc(s->commands, s->room * sizeof c);
    }
    s->commands[s->last++] = c;
}

/* Gives a command to a stream, or to the capture that the stream takes part in. */
static result issue(stream *s, command c) {
    if (!s->alive) return INVALID_HANDLE;
    if (!capture) { 
        if (c.kind == RECORD && c.external) return INVALID_VALUE;
        if (c.kind == RECORD) c.count = ++c.event->recorded_count;
        if (c.kind == WAIT) { if (!c.event->recorded_count) return OK; c.count = c.event->recorded_count; }
        push(s, c);
        return OK;
    }
    if (c.kind == WAIT && c.event->in_capture) s->capturing = 1;
    if (!s->capturing || c.kind == HOLD) return CAPTURE;
    if (c.kind == WAIT && !c.event->in_capture) return CAPTURE;
    if (c.kind == RECORD && !c.external) c.event->in_capture = 1;
    if (c.kind == RECORD && c.external && !c.event->timed) return INVALID_VALUE;
    if (capture->count == capture->room) {
        capture->room = capture->room ? 2 * capture->room : 64;
        capture->commands = realloc(capture->commands, capture->room * sizeof c);
        capture->streams = realloc(capture->streams, capture->room * sizeof s);
    }
    capture->commands[capture->count] = c;
    capture->streams[capture->count++] = s;
    return OK;
}

/* For the fake cuBLAS: three matrices, as addresses and bytes, and how many operations their product takes. */
result fake_product(stream *s, const uint64_t *words) {
    command c = { .kind = PRODUCT };
    memcpy(c.words, words, sizeof c.words);
    return issue(s, c);
}

result cuInit(unsigned flags) { (void)flags; CALL(cuInit); for (int i = 0; i < 16; i++) contexts[i].gpu = i; return setting("FAKE_GPUS", 1) ? OK : NO_DEVICE; }
result cuDeviceGetCount(int *count) { CALL(cuDeviceGetCount); *count = setting("FAKE_GPUS", 1); return OK; }
result cuDriverGetVersion(int *version) { CALL(cuDriverGetVersion); *version = setting("FAKE_VERSION", 12050); return OK; }
result cuDeviceGet(int *device, int ordinal) { CALL(cuDeviceGet); *device = ordinal; return OK; }
result cuDeviceGetName(char *name, int length, int device) { CALL(cuDeviceGetName); snprintf(name, length, "Fake GPU %d", device); return OK; }
result cuDeviceGetAttribute(int *value, int attribute, int device) { CALL(cuDeviceGetAttribute); (void)attribute; (void)device; *value = 0; return OK; }
result cuDeviceGetPCIBusId(char *text, int length, int device) { CALL(cuDeviceGetPCIBusId); snprintf(text, length, "0000:%02x:00.0", device + 1); return OK; }
result cuDeviceCanAccessPeer(int *can, int device, int peer) { CALL(cuDeviceCanAccessPeer); (void)device; (void)peer; *can = setting("FAKE_PEER", 1); return OK; }
result cuDevicePrimaryCtxRetain(context **c, int device) { CALL(cuDevicePrimaryCtxRetain); *c = &contexts[device]; return OK; }
result cuDevicePrimaryCtxRelease_v2(int device) { CALL(cuDevicePrimaryCtxRelease_v2); return used[device] || host_words ? (fprintf(stderr, "fake driver: memory leaks\n"), abort(), 1) : OK; }
result cuCtxGetCurrent(context **c) { *c = current; return OK; }
result cuCtxSetCurrent(context *c) { current = c; return OK; }
result cuCtxEnablePeerAccess(context *peer, unsigned flags) { CALL(cuCtxEnablePeerAccess); (void)flags; return peer == current ? INVALID_VALUE : OK; }
result cuMemGetInfo_v2(size_t *free, size_t *total) { CALL(cuMemGetInfo_v2); *total = setting("FAKE_MEMORY", 1 << 30); *free = *total - used[current->gpu]; return OK; }
result cuGetErrorString(result error, const char **text) { *text = error == OUT_OF_MEMORY ? "out of memory" : "a fault of the tests"; return OK; }

result cuMemAlloc_v2(uint64_t *address, size_t bytes) {
    CALL(cuMemAlloc_v2);
    if (!bytes || used[current->gpu] + bytes > (uint64_t)setting("FAKE_MEMORY", 1 << 30)) return bytes ? OUT_OF_MEMORY : INVALID_VALUE;
    block *b = malloc(sizeof *b);
    *b = (block){ (uint64_t)calloc(bytes, 1), bytes, current->gpu, blocks };
    blocks = b;
    used[current->gpu] += bytes;
    *address = b->start;
    return OK;
}
result cuMemFree_v2(uint64_t address) {
    CALL(cuMemFree_v2);
    for (block **b = &blocks; *b; b = &(*b)->next) if ((*b)->start == address) {
        block *gone = *b;
        *b = gone->next;
        used[gone->gpu] -= gone->bytes;
        free((void *)gone->start);
        free(gone);
        return OK;
    }
    return INVALID_VALUE;
}
result cuMemHostAlloc(void **address, size_t bytes, unsigned flags) { CALL(cuMemHostAlloc); if (flags != 2 || bytes != 16) return INVALID_VALUE; *address = malloc(bytes); memset(*address, 0xff, bytes); host_words++; return OK; }
result cuMemHostGetDevicePointer_v2(uint64_t *address, void *words, unsigned flags) { CALL(cuMemHostGetDevicePointer_v2); (void)flags; *address = (uint64_t)words; return OK; }
result cuMemFreeHost(void *address) { CALL(cuMemFreeHost); run_all(); free(address); host_words--; return OK; }
/* Such a copy may return before it has arrived: it does so when the host waits for the GPU. */
static struct { uint64_t target; size_t bytes; void *values; } *on_their_way;
static size_t way_count;
static void arrive(void) {
    for (size_t i = 0; i < way_count; i++) { memcpy((void *)on_their_way[i].target, on_their_way[i].values, on_their_way[i].bytes); free(on_their_way[i].values); }
    way_count = 0;
}
result cuMemcpyHtoD_v2(uint64_t target, const void *source, size_t bytes) {
    CALL(cuMemcpyHtoD_v2);
    holder(target, bytes);
    on_their_way = realloc(on_their_way, (way_count + 1) * sizeof *on_their_way);
    on_their_way[way_count].target = target;
    on_their_way[way_count].bytes = bytes;
    on_their_way[way_count].values = malloc(bytes);
    memcpy(on_their_way[way_count++].values, source, bytes);
    return OK;
}
result cuCtxSynchronize(void) { CALL(cuCtxSynchronize); if (capture) return CAPTURE; run_in_the_end(); arrive(); return OK; }
result cuMemcpyDtoH_v2(void *target, uint64_t source, size_t bytes) { CALL(cuMemcpyDtoH_v2); holder(source, bytes); memcpy(target, (void *)source, bytes); return OK; }
result cuMemcpyHtoDAsync_v2(uint64_t target, const void *source, size_t bytes, stream *s) { CALL(cuMemcpyHtoDAsync_v2); (void)s; holder(target, bytes); memcpy((void *)target, source, bytes); return OK; }
result cuMemcpyDtoDAsync_v2(uint64_t target, uint64_t source, size_t bytes, stream *s) {
    CALL(cuMemcpyDtoDAsync_v2);
    if (holder(target, bytes)->gpu != holder(source, bytes)->gpu || holder(source, bytes)->gpu != s->gpu) return INVALID_VALUE;
    return issue(s, (command){ .kind = COPY, .target = target, .source = source, .bytes = bytes });
}
result cuMemcpyPeerAsync(uint64_t target, context *target_context, uint64_t source, context *source_context, size_t bytes, stream *s) {
    CALL(cuMemcpyPeerAsync);
    if (holder(target, bytes)->gpu != target_context->gpu || holder(source, bytes)->gpu != source_context->gpu) return INVALID_VALUE;
    if (source_context->gpu != s->gpu) return INVALID_HANDLE;
    return issue(s, (command){ .kind = COPY, .target = target, .source = source, .bytes = bytes });
}

result cuModuleLoadData(void **module, const void *image) { CALL(cuModuleLoadData); *module = strstr(image, ".entry execute_op(") && strstr(image, ".entry hold_back(") ? current : NULL; return *module ? OK : INVALID_VALUE; }
result cuModuleGetFunction(void **function, void *module, const char *name) { CALL(cuModuleGetFunction); 
    if (!strcmp(name, "hold_back")) { *function = &hold_back[(context *)module - contexts]; return OK; }
    *function = module; return strcmp(name, "execute_op") ? INVALID_VALUE : OK; }
result cuModuleUnload(void *module) { CALL(cuModuleUnload); (void)module; return OK; }
result cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, stream *s, void **parameters, void **extra) {
    CALL(cuLaunchKernel);
    if (function == (void *)&hold_back[s->gpu]) {
        if (gx * gy * gz != 1 || bx * by * bz != 1 || shared || extra || gate_count == 1024) return INVALID_VALUE;
        command c = { .kind = HOLD };
        for (int i = 0; i < 3; i++) c.words[i] = *(uint64_t *)parameters[i];
        gates[gate_count].words = (uint64_t *)c.words[0];
        gates[gate_count].step = c.words[1];
        gates[gate_count++].opened = *(uint64_t *)c.words[0] >= c.words[1] ? host_now : -1;
        return issue(s, c);
    }
    if (function != (void *)&contexts[s->gpu] || gx * gy * gz != 1 || bx != 32 || by * bz != 1 || shared || extra) return INVALID_VALUE;
    command c = { .kind = KERNEL };
    for (int i = 0; i < 7; i++) c.words[i] = i == 2 || i == 4 ? *(uint32_t *)parameters[i] : *(uint64_t *)parameters[i];
    return issue(s, c);
}

result cuStreamCreate(stream **s, unsigned flags) {
    CALL(cuStreamCreate);
    if (flags != 1) return INVALID_VALUE;
    *s = calloc(1, sizeof **s);
    (*s)->gpu = current->gpu;
    (*s)->alive = 1;
    (*s)->next = streams;
    streams = *s;
    return OK;
}
/* Streams stay in the list: a finished graph still names them. */
result cuStreamDestroy_v2(stream *s) { CALL(cuStreamDestroy_v2); if (s->first != s->last) { fprintf(stderr, "fake driver: a busy stream ends\n"); abort(); } s->alive = 0; return OK; }
result cuStreamWaitEvent(stream *s, event *e, unsigned flags) { CALL(cuStreamWaitEvent); (void)flags; return issue(s, (command){ .kind = WAIT, .event = e }); }
result cuStreamBeginCapture_v2(stream *s, int mode) { CALL(cuStreamBeginCapture_v2); (void)mode; if (capture) return CAPTURE; capture = calloc(1, sizeof *capture); s->capturing = 1; return OK; }
result cuStreamEndCapture(stream *s, graph **g) {
    CALL(cuStreamEndCapture);
    *g = capture;
    result answer = OK;
    /* Every stream of the capture has to end with an event that another one waits for later. */
    for (stream *other = streams; other; other = other->next) {
        if (other == s || !other->capturing) continue;
        size_t last = capture->count;
        while (last > 0 && capture->streams[last - 1] != other) last--;
        int joined = last > 0 && capture->commands[last - 1].kind == RECORD, waited = 0;
        for (size_t i = last; joined && i < capture->count; i++) waited |= capture->commands[i].kind == WAIT && capture->commands[i].event == capture->commands[last - 1].event;
        if (!waited) answer = CAPTURE;
    }
    for (stream *other = streams; other; other = other->next) other->capturing = 0;
    for (size_t i = 0; i < capture->count; i++) if (capture->commands[i].event) capture->commands[i].event->in_capture = 0;
    capture = NULL;
    return answer;
}
result cuGraphInstantiateWithFlags(graph **executable, graph *g, unsigned long long flags) { CALL(cuGraphInstantiateWithFlags); (void)flags; *executable = g; return OK; }
result cuGraphUpload(graph *g, stream *s) { CALL(cuGraphUpload); (void)g; (void)s; return OK; }
result cuGraphLaunch(graph *g, stream *s) {
    CALL(cuGraphLaunch);
    (void)s;
    for (size_t i = 0; i < g->count; i++) {
        command c = g->commands[i];
        c.external = 0;
        result answer = issue(g->streams[i], c);
        if (answer) return answer;
    }
    return OK;
}
result cuGraphExecDestroy(graph *g) { CALL(cuGraphExecDestroy); (void)g; return OK; }
result cuGraphDestroy(graph *g) { CALL(cuGraphDestroy); free(g->commands); free(g->streams); free(g); return OK; }

result cuEventCreate(event **e, unsigned flags) { CALL(cuEventCreate); *e = calloc(1, sizeof **e); (*e)->gpu = current->gpu; (*e)->timed = !(flags & 2); return OK; }
result cuEventDestroy_v2(event *e) { CALL(cuEventDestroy_v2); free(e); return OK; }
result cuEventRecord(event *e, stream *s) { CALL(cuEventRecord); return e->gpu == s->gpu ? issue(s, (command){ .kind = RECORD, .event = e }) : INVALID_HANDLE; }
result cuEventRecordWithFlags(event *e, stream *s, unsigned flags) { CALL(cuEventRecordWithFlags); return e->gpu == s->gpu ? issue(s, (command){ .kind = RECORD, .event = e, .external = flags == 1 }) : INVALID_HANDLE; }
result cuEventQuery(event *e) { CALL(cuEventQuery); if (capture) return CAPTURE; if (looks++ < setting("FAKE_BUSY", 0)) return NOT_READY; run_in_the_end(); return e->done_count == e->recorded_count ? OK : NOT_READY; }
result cuEventSynchronize(event *e) { CALL(cuEventSynchronize); if (capture) return CAPTURE; run_in_the_end(); return e->done_count == e->recorded_count ? OK : NOT_READY; }
/* Only events of one GPU compare. */
result cuEventElapsedTime(float *milliseconds, event *start, event *end) {
    CALL(cuEventElapsedTime);
    if (!start->timed || !end->timed || start->gpu != end->gpu || !start->done_count || !end->done_count) return INVALID_HANDLE;
    *milliseconds = (end->at - start->at) * (1 + start->gpu * setting("FAKE_DRIFT_PPM", 0) * 1e-6) * 1e3;
    return OK;
}
result cuEventElapsedTime_v2(float *milliseconds, event *start, event *end) { return cuEventElapsedTime(milliseconds, start, end); }
