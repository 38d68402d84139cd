// A fake of oneDNN 3: matmul, convolutions and reorders of float32, and products of integers, by their definitions.
//
// Memory whose order the library chooses has the dimensions reversed, so that operands must be reordered. A call on several
// OpenMP threads, objects that are freed twice, and operands of other types are errors. Products of 16-bit floats are not
// implemented.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS, OUT_OF_MEMORY, INVALID, UNIMPLEMENTED };
enum { SRC = 1, DST = 17, WEIGHTS = 33, SCRATCHPAD = 80, DIFF_SRC = 129, DIFF_DST = 145, DIFF_WEIGHTS = 161 };
#ifndef RUNTIME
#define RUNTIME 2
#endif
// Microseconds.
#ifndef PREPARATION
#define PREPARATION 0
#endif
#ifndef MAJOR
#define MAJOR 3
#endif

static __thread int threads = 4;
static int live;
int omp_get_max_threads(void) { return threads; }
void omp_set_num_threads(int count) { threads = count; }
/// The objects that exist, for tests.
int fake_live_objects(void) { return live; }

static int verbose;
int dnnl_set_verbose(int level) { verbose = level; return SUCCESS; }
const void *dnnl_version(void) {
    static const struct { int major, minor, patch; const char *hash; unsigned cpu, gpu; } version = {MAJOR, 2, 1, "", RUNTIME, 0};
    return &version;
}

typedef struct { int kind; } object;
static void *made(int kind, size_t size) {
    object *new = calloc(1, size);
    new->kind = kind;
    __atomic_add_fetch(&live, 1, __ATOMIC_RELAXED);
    return new;
}
static int freed(void *pointer, int kind) {
    object *old = pointer;
    if (old == NULL || old->kind != kind) return INVALID;
    old->kind = 0;
    __atomic_sub_fetch(&live, 1, __ATOMIC_RELAXED);
    free(old);
    return SUCCESS;
}

enum { ENGINE = 1, STREAM, MEMORY_DESC, MEMORY, ATTR, POST_OPS, PLAN, PRIMITIVE };
typedef struct { int kind, count, type; int64_t sizes[12], strides[12]; } desc;
typedef struct { int kind; desc of; void *data; } memory;
typedef struct { int kind, adds, mode, ordered, user; } attr;
typedef struct { int kind, sums; } post_ops;
typedef struct { int kind, what, roles[3], adds, mode, ordered; desc operands[3], scratchpad; int64_t stride[2], gap[2], before[2]; } plan;

#ifndef ISA
#define ISA 0x67
#endif
int dnnl_get_effective_cpu_isa(void) { return ISA; }
int dnnl_engine_create(void **out, int kind, size_t index) {
    if (kind != 1 || index != 0) return INVALID;
    static object engine = {ENGINE};
    *out = &engine;
    return SUCCESS;
}
int dnnl_stream_create(void **out, object *engine, unsigned flags) {
    if (engine->kind != ENGINE || flags != 1) return INVALID;
    *out = made(STREAM, sizeof(object));
    return SUCCESS;
}
int dnnl_stream_wait(object *stream) { return stream->kind == STREAM ? SUCCESS : INVALID; }
int dnnl_stream_destroy(void *stream) { return freed(stream, STREAM); }

int dnnl_memory_desc_create_with_strides(desc **out, int count, const int64_t *sizes, int type, const int64_t *strides) {
    *out = made(MEMORY_DESC, sizeof **out);
    (*out)->count = count;
    (*out)->type = type;
    memcpy((*out)->sizes, sizes, count * sizeof *sizes);
    memcpy((*out)->strides, strides, count * sizeof *sizes);
    return SUCCESS;
}
int dnnl_memory_desc_create_with_tag(desc **out, int count, const int64_t *sizes, int type, int tag) {
    int64_t strides[12], step = 1;
    if (tag != 1) return INVALID;
    for (int dim = 0; dim < count; step *= sizes[dim++]) strides[dim] = step;
    return dnnl_memory_desc_create_with_strides(out, count, sizes, type, strides);
}
int dnnl_memory_desc_clone(desc **out, const desc *of) {
    *out = made(MEMORY_DESC, sizeof **out);
    **out = *of;
    return SUCCESS;
}
int dnnl_memory_desc_equal(const desc *one, const desc *other) {
    return one->count == other->count && one->type == other->type
        && !memcmp(one->sizes, other->sizes, one->count * 8) && !memcmp(one->strides, other->strides, one->count * 8);
}
size_t dnnl_memory_desc_get_size(const desc *of) {
    int64_t last = 1;
    for (int dim = 0; dim < of->count; dim++) last += (of->sizes[dim] - 1) * of->strides[dim];
    return of->count == 0 ? 0 : last * sizeof(float);
}
int dnnl_memory_desc_destroy(void *of) { return freed(of, MEMORY_DESC); }
int dnnl_memory_create(memory **out, const desc *of, object *engine, void *data) {
    if (of->kind != MEMORY_DESC || engine->kind != ENGINE) return INVALID;
    *out = made(MEMORY, sizeof **out);
    (*out)->of = *of;
    (*out)->data = data;
    return SUCCESS;
}
int dnnl_memory_destroy(void *of) { return freed(of, MEMORY); }

int dnnl_primitive_attr_create(void **out) { *out = made(ATTR, sizeof(attr)); return SUCCESS; }
int dnnl_primitive_attr_set_fpmath_mode(attr *of, int mode) { of->mode = mode; return SUCCESS; }
#ifndef WITHOUT_DETERMINISTIC
int dnnl_primitive_attr_set_deterministic(attr *of, int value) { of->ordered = value; return SUCCESS; }
#endif
int dnnl_primitive_attr_set_scratchpad_mode(attr *of, int mode) { of->user = mode; return SUCCESS; }
int dnnl_primitive_attr_set_post_ops(attr *of, const post_ops *ops) { of->adds = ops->sums; return SUCCESS; }
int dnnl_primitive_attr_destroy(void *of) { return freed(of, ATTR); }
int dnnl_post_ops_create(void **out) { *out = made(POST_OPS, sizeof(post_ops)); return SUCCESS; }
int dnnl_post_ops_append_sum(post_ops *of, float scale, int32_t zero, int type) {
    of->sums = 1;
    return scale == 1 && zero == 0 && type == 0 ? SUCCESS : INVALID;
}
int dnnl_post_ops_destroy(void *of) { return freed(of, POST_OPS); }

static int planned(plan **out, int what, const attr *of, const int roles[3], const desc *operands[3]) {
    if (of->kind != ATTR || of->user != 1 || threads != 1) return INVALID;
    int of_integers = what == 'm' && operands[0]->type == 6 && operands[1]->type == 5 && operands[2]->type == 4;
    for (int operand = 0; operand < (what == 'r' ? 2 : 3); operand++)
        if (operands[operand]->type != 3 && !of_integers) return UNIMPLEMENTED;
    if (of_integers && of->adds) return UNIMPLEMENTED;
    *out = made(PLAN, sizeof **out);
    (*out)->what = what;
    (*out)->adds = of->adds;
    (*out)->mode = of->mode;
    (*out)->ordered = of->ordered;
    for (int operand = 0; operand < 3 && operands[operand]; operand++) {
        (*out)->roles[operand] = roles[operand];
        (*out)->operands[operand] = *operands[operand];
    }
    // Bytes that are written by each execution.
    (*out)->scratchpad = (desc){MEMORY_DESC, 1, 3, {4}, {1}};
    return SUCCESS;
}
int dnnl_matmul_primitive_desc_create(
    plan **out, object *engine, const desc *src, const desc *weights, const desc *bias, const desc *dst, const attr *of
) {
    if (bias != NULL) return INVALID;
    return planned(out, 'm', of, (int[]){SRC, WEIGHTS, DST}, (const desc *[]){src, weights, dst});
}
int dnnl_reorder_primitive_desc_create(
    plan **out, const desc *from, object *engine, const desc *to, object *other, const attr *of
) {
    return planned(out, 'r', of, (int[]){SRC, DST, 0}, (const desc *[]){from, to, NULL});
}
static int convolved(
    plan **out, const attr *of, const int roles[3], const desc *operands[3], const int64_t *stride, const int64_t *gap,
    const int64_t *before
) {
    int status = planned(out, 'c', of, roles, operands);
    for (int axis = 0; axis < 2 && status == SUCCESS; axis++) {
        (*out)->stride[axis] = stride[axis];
        (*out)->gap[axis] = gap[axis];
        (*out)->before[axis] = before[axis];
    }
    return status;
}
int dnnl_convolution_forward_primitive_desc_create(
    plan **out, object *engine, int kind, int algorithm, const desc *src, const desc *weights, const desc *bias,
    const desc *dst, const int64_t *stride, const int64_t *gap, const int64_t *before, const int64_t *after, const attr *of
) {
    if (bias != NULL || algorithm != 1 || kind != 64) return INVALID;
    return convolved(out, of, (int[]){SRC, WEIGHTS, DST}, (const desc *[]){src, weights, dst}, stride, gap, before);
}
int dnnl_convolution_backward_data_primitive_desc_create(
    plan **out, object *engine, int algorithm, const desc *src, const desc *weights, const desc *dst, const int64_t *stride,
    const int64_t *gap, const int64_t *before, const int64_t *after, const plan *hint, const attr *of
) {
    return convolved(out, of, (int[]){DIFF_SRC, WEIGHTS, DIFF_DST}, (const desc *[]){src, weights, dst}, stride, gap, before);
}
int dnnl_convolution_backward_weights_primitive_desc_create(
    plan **out, object *engine, int algorithm, const desc *src, const desc *weights, const desc *bias, const desc *dst,
    const int64_t *stride, const int64_t *gap, const int64_t *before, const int64_t *after, const plan *hint, const attr *of
) {
    if (bias != NULL) return INVALID;
    return convolved(out, of, (int[]){SRC, DIFF_WEIGHTS, DIFF_DST}, (const desc *[]){src, weights, dst}, stride, gap, before);
}
const desc *dnnl_primitive_desc_query_md(const plan *of, int what, int role) {
    if (what == 136) return &of->scratchpad;
    for (int operand = 0; what == 255 && operand < 3; operand++)
        if (of->roles[operand] == role) return &of->operands[operand];
    return NULL;
}
int dnnl_primitive_desc_destroy(void *of) { return freed(of, PLAN); }
// As the library does, under a lock of the process.
static int preparing;
int dnnl_primitive_create(plan **out, const plan *of) {
    while (__atomic_exchange_n(&preparing, 1, __ATOMIC_ACQUIRE)) usleep(100);
    usleep(PREPARATION);
    __atomic_store_n(&preparing, 0, __ATOMIC_RELEASE);
    *out = made(PRIMITIVE, sizeof **out);
    **out = *of;
    (*out)->kind = PRIMITIVE;
    return SUCCESS;
}
int dnnl_primitive_destroy(void *of) { return freed(of, PRIMITIVE); }

typedef struct { int role; memory *memory; } argument;
static float *at(const memory *in, const int64_t *position) {
    int64_t offset = 0;
    for (int dim = 0; dim < in->of.count; dim++) offset += position[dim] * in->of.strides[dim];
    return (float *)in->data + offset;
}
static void copy(const memory *from, const memory *to, int dim, int64_t *position) {
    if (dim == from->of.count) *at(to, position) = *at(from, position);
    else for (position[dim] = 0; position[dim] < from->of.sizes[dim]; position[dim]++) copy(from, to, dim + 1, position);
}
static void clear(const memory *in, int dim, int64_t *position) {
    if (dim == in->of.count) *at(in, position) = 0;
    else for (position[dim] = 0; position[dim] < in->of.sizes[dim]; position[dim]++) clear(in, dim + 1, position);
}
static void multiply(const memory *left, const memory *right, const memory *out) {
    const int64_t *sizes = left->of.sizes;
    for (int64_t row = 0; row < sizes[0]; row++)
        for (int64_t column = 0; column < right->of.sizes[1]; column++)
            for (int64_t k = 0; k < sizes[1]; k++)
                *at(out, (int64_t[]){row, column}) += *at(left, (int64_t[]){row, k}) * *at(right, (int64_t[]){k, column});
}
static void convolve(const plan *of, const memory *src, const memory *weights, const memory *dst, const memory *result) {
    int grouped = weights->of.count == 5;
    const int64_t *w = weights->of.sizes + grouped, *s = src->of.sizes, *d = dst->of.sizes;
    int64_t zero[12];
    clear(result, 0, zero);
    for (int64_t n = 0; n < d[0]; n++)
    for (int64_t filter = 0; filter < d[1]; filter++)
    for (int64_t row = 0; row < d[2]; row++)
    for (int64_t column = 0; column < d[3]; column++)
    for (int64_t channel = 0; channel < w[1]; channel++)
    for (int64_t i = 0; i < w[2]; i++)
    for (int64_t j = 0; j < w[3]; j++) {
        int64_t y = row * of->stride[0] - of->before[0] + i * (of->gap[0] + 1);
        int64_t x = column * of->stride[1] - of->before[1] + j * (of->gap[1] + 1);
        if (y < 0 || x < 0 || y >= s[2] || x >= s[3]) continue;
        int64_t group = filter / w[0], kernel[5] = {group, filter % w[0], channel, i, j};
        float *input = at(src, (int64_t[]){n, group * w[1] + channel, y, x});
        float *weight = at(weights, kernel + !grouped), *output = at(dst, (int64_t[]){n, filter, row, column});
        if (result == dst) *output += *input * *weight;
        else if (result == src) *input += *output * *weight;
        else *weight += *input * *output;
    }
}
static void multiply_integers(const memory *left, const memory *right, const memory *out) {
    const int64_t *sizes = left->of.sizes, *l = left->of.strides, *r = right->of.strides, *o = out->of.strides;
    for (int64_t row = 0; row < sizes[0]; row++)
        for (int64_t column = 0; column < right->of.sizes[1]; column++) {
            int32_t sum = 0;
            for (int64_t k = 0; k < sizes[1]; k++)
                sum += ((uint8_t *)left->data)[row * l[0] + k * l[1]] * ((int8_t *)right->data)[k * r[0] + column * r[1]];
            ((int32_t *)out->data)[row * o[0] + column * o[1]] = sum;
        }
}
static const memory *of_role(int count, const argument *arguments, int role, int gradient) {
    for (int index = 0; index < count; index++)
        if (arguments[index].role == role || arguments[index].role == gradient) return arguments[index].memory;
    abort();
}
int dnnl_primitive_execute(const plan *of, object *stream, int count, const argument *arguments) {
    if (of->kind != PRIMITIVE || stream->kind != STREAM || threads != 1) return INVALID;
    if (verbose) printf("onednn_verbose,exec,%c,mode %d,ordered %d\n", of->what, of->mode, of->ordered), fflush(stdout);
    memset(of_role(count, arguments, SCRATCHPAD, SCRATCHPAD)->data, 1, 16);
    int64_t position[12];
    const memory *src = of_role(count, arguments, SRC, DIFF_SRC), *dst = of_role(count, arguments, DST, DIFF_DST);
    if (of->what == 'r') return copy(src, dst, 0, position), SUCCESS;
    const memory *weights = of_role(count, arguments, WEIGHTS, DIFF_WEIGHTS);
    if (of->what == 'm' && src->of.type == 6) return multiply_integers(src, weights, dst), SUCCESS;
    if (of->what == 'm') {
        if (!of->adds) clear(dst, 0, position);
        return multiply(src, weights, dst), SUCCESS;
    }
    int forward = of->roles[2] == DST, of_input = of->roles[0] == DIFF_SRC;
    convolve(of, src, weights, dst, forward ? dst : of_input ? src : weights);
    return SUCCESS;
}
