/* The C interface from C: prints nothing and returns 0 if all is as it should be. */
#include "ptx_run.h"

#include <stdio.h>
#include <string.h>

#define CHECK(what)                                                                                                    \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #what, ptx_error_text());                           \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

static const char SOURCE[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry add(.param .u64 x, .param .u64 y, .param .u32 k) {\n"
    "    .reg .b64 %rd<6>; .reg .b32 %r<6>;\n"
    "    ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.u32 %r1, [k];\n"
    "    mov.u32 %r2, %tid.x; mul.wide.u32 %rd3, %r2, 4;\n"
    "    add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;\n"
    "    ld.global.u32 %r3, [%rd4]; add.u32 %r4, %r3, %r1; st.global.u32 [%rd5], %r4; ret;\n"
    "}\n";

/* Prints the rank of each block in its cluster, and a number by the argument. */
static const char PRINTS[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
    ".global .align 1 .b8 format[4] = {37, 100, 32, 0};\n"
    ".visible .entry prints() {\n"
    "    .local .align 8 .b8 given[8]; .reg .b64 %rd<4>; .reg .b32 %r<3>;\n"
    "    mov.u32 %r1, %cluster_ctarank; cvta.local.u64 %rd1, given; st.local.u32 [given], %r1;\n"
    "    mov.u64 %rd2, format; cvta.global.u64 %rd3, %rd2;\n"
    "    { .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %rd3; st.param.b64 [a], %rd1;\n"
    "    call.uni (r), vprintf, (f, a); ld.param.b32 %r2, [r]; } ret;\n"
    "}\n";

/* A program of two modules. */
static const char *const PROGRAM[2] = {
    ".version 8.0\n.target sm_90\n.address_size 64\n.extern .global .u32 x;\n"
    ".visible .entry store() { .reg .b32 %r<2>; mov.u32 %r1, %tid.x; st.global.u32 [x], %r1; ret; }\n",
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .global .u32 x;\n",
};

static void collect(const char *text, void *data) { strcat(data, text); }

int main(void) {
    uint32_t x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8] = {0};

    /* As mock drivers call it: pointers of the host, integers as they are. */
    void *args[3] = {x, y, (void *)(uintptr_t)10};
    CHECK(ptx_run(SOURCE, 3, args, 8, 1, 1, 1, 1, 1, 0) == PTX_OK && ptx_last_error() == PTX_OK);
    for (int i = 0; i < 8; i++) CHECK(y[i] == x[i] + 10);

    /* With memory of its own. */
    ptx_memory *memory = ptx_memory_new();
    ptx_module *module = ptx_module_load(memory, SOURCE);
    CHECK(module != NULL);
    ptx_kernel_handle *kernel = ptx_kernel(module, "add");
    CHECK(kernel != NULL);
    CHECK(ptx_kernel(module, "sub") == NULL && ptx_last_error() == PTX_NO_KERNEL);
    uint64_t in = ptx_allocate(memory, sizeof x), out = ptx_allocate(memory, sizeof y);
    uint32_t k = 5;
    const void *const given[3] = {&in, &out, &k};
    CHECK(ptx_copy_in(memory, in, x, sizeof x) == PTX_OK);
    struct ptx_launch_config launch = {.grid = {1, 1, 1}, .block = {8, 1, 1}, .threads = 1};
    CHECK(ptx_launch(kernel, &launch, 3, (void *const *)given) == PTX_OK);
    CHECK(ptx_copy_out(memory, y, out, sizeof y) == PTX_OK);
    for (int i = 0; i < 8; i++) CHECK(y[i] == x[i] + 5);

    /* What goes wrong is told, and the process lives on. */
    launch.block[0] = 9;
    CHECK(ptx_launch(kernel, &launch, 3, (void *const *)given) == PTX_ACCESS);
    CHECK(strstr(ptx_error_text(), "ld.global.u32") != NULL);
    CHECK(ptx_launch(kernel, &launch, 2, (void *const *)given) == PTX_ARGUMENTS);
    CHECK(ptx_module_load(memory, ".version 8.0\n.target sm_80\n.entry k() { nonsense; }") == NULL);
    CHECK(ptx_last_error() == PTX_MODULE);
    CHECK(ptx_release(memory, in) == PTX_OK && ptx_release(memory, in) == PTX_ACCESS);
    CHECK(ptx_allocate(memory, SIZE_MAX / 2) == 0 && ptx_last_error() == PTX_MEMORY);

    /* What kernels print goes where the caller says, and clusters have the caller's shape. */
    char printed[64] = "";
    ptx_module *prints = ptx_module_load(memory, PRINTS);
    CHECK(prints != NULL);
    ptx_kernel_handle *printing = ptx_kernel(prints, "prints");
    struct ptx_launch_config clusters = {.grid = {4, 1, 1}, .block = {1, 1, 1}, .threads = 1, .cluster = {2, 0, 0}};
    clusters.print = collect, clusters.data = printed;
    CHECK(ptx_launch(printing, &clusters, 0, NULL) == PTX_OK);
    CHECK(strcmp(printed, "0 1 0 1 ") == 0);
    clusters.cluster[0] = 3;
    CHECK(ptx_launch(printing, &clusters, 0, NULL) == PTX_SHAPE);
    ptx_module *program = ptx_module_link(memory, 2, PROGRAM), *half = ptx_module_link(memory, 1, PROGRAM);
    ptx_kernel_handle *stores = ptx_kernel(program, "store"), *lacks = ptx_kernel(half, "store");
    struct ptx_launch_config single = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    CHECK(ptx_launch(stores, &single, 0, NULL) == PTX_OK);
    CHECK(ptx_launch(lacks, &single, 0, NULL) == PTX_UNSUPPORTED && strstr(ptx_error_text(), "`x`") != NULL);
    ptx_kernel_free(stores), ptx_kernel_free(lacks);
    ptx_module_free(program), ptx_module_free(half);
    ptx_kernel_free(printing);
    ptx_module_free(prints);

    /* Each thread writes its index to the same word. */
    static const char RACY[] =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry racy() { .reg .b32 %r<2>; .shared .align 4 .b32 s; mov.u32 %r1, %tid.x; st.shared.u32 [s], %r1; ret; }\n";
    ptx_module *races = ptx_module_load(memory, RACY);
    ptx_kernel_handle *racy = ptx_kernel(races, "racy");
    struct ptx_launch_config two = {.grid = {1, 1, 1}, .block = {2, 1, 1}};
    CHECK(ptx_launch(racy, &two, 0, NULL) == PTX_OK);
    two.races = 1;
    CHECK(ptx_launch(racy, &two, 0, NULL) == PTX_RACE && strstr(ptx_error_text(), "the other write") != NULL);
    ptx_kernel_free(racy), ptx_module_free(races);

    /* Tensor maps, by value: rows 2 to 5 of a matrix in boxes of 4 × 4, and interleaved pixels. */
#define COPY(NAME, RANK, PLACE) \
    ".visible .entry " NAME "(.param .align 64 .b8 map[128], .param .u64 y) {\n" \
    "    .reg .b64 %rd<6>; .reg .b32 %r<6>; .reg .pred %p<2>;\n" \
    "    .shared .align 128 .b8 data[64]; .shared .align 8 .b64 bar;\n" \
    "    mov.b64 %rd1, map; cvta.param.u64 %rd1, %rd1; ld.param.u64 %rd2, [y]; mov.u32 %r1, %tid.x;\n" \
    "    mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.expect_tx.shared.b64 %rd3, [bar], 64;\n" \
    "    cp.async.bulk.tensor." RANK "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [data], [%rd1, {" PLACE "}], [bar];\n" \
    "AGAIN: mbarrier.try_wait.shared.b64 %p1, [bar], %rd3; @!%p1 bra AGAIN;\n" \
    "    ld.shared.v4.b32 {%r1, %r2, %r3, %r4}, [data+48]; st.global.v4.b32 [%rd2], {%r1, %r2, %r3, %r4}; ret;\n" \
    "}\n"
    static const char TENSOR[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n" COPY("box", "2", "0, 2") COPY("slice", "3", "0, 1, 0");
    uint32_t matrix[32];
    for (int i = 0; i < 32; i++) matrix[i] = i;
    uint64_t tensor = ptx_allocate(memory, sizeof matrix);
    CHECK(ptx_copy_in(memory, tensor, matrix, sizeof matrix) == PTX_OK);
    struct ptx_tensor_map map = {.element = PTX_TENSOR_U32, .rank = 2, .global_address = tensor, .global_dim = {4, 8},
                                 .global_stride = {16}, .box_dim = {4, 4}};
    unsigned char bytes[128];
    CHECK(ptx_tensor_map_encode(&map, bytes) == PTX_OK);
    ptx_module *tensors = ptx_module_load(memory, TENSOR);
    ptx_kernel_handle *box = ptx_kernel(tensors, "box");
    CHECK(box != NULL);
    const void *const both[2] = {bytes, &out};
    struct ptx_launch_config one = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .threads = 1};
    for (one.delay = 0; one.delay < 2; one.delay++) {
        CHECK(ptx_launch(box, &one, 2, (void *const *)both) == PTX_OK);
        CHECK(ptx_copy_out(memory, y, out, 16) == PTX_OK);
        for (int i = 0; i < 4; i++) CHECK(y[i] == 20u + i);
    }
    /* Four pixels with two slices of four words each: the last pixel of the second slice. */
    struct ptx_tensor_map slices = {.element = PTX_TENSOR_U32, .rank = 3, .global_address = tensor, .global_dim = {4, 2, 1},
                                    .global_stride = {64, 128}, .box_dim = {4, 1, 1}, .interleave = 1};
    CHECK(ptx_tensor_map_encode(&slices, bytes) == PTX_OK);
    ptx_kernel_handle *slice = ptx_kernel(tensors, "slice");
    CHECK(ptx_launch(slice, &one, 2, (void *const *)both) == PTX_OK);
    CHECK(ptx_copy_out(memory, y, out, 16) == PTX_OK);
    for (int i = 0; i < 4; i++) CHECK(y[i] == 28u + i);
    slices.interleave = 3;
    CHECK(ptx_tensor_map_encode(&slices, bytes) == PTX_TENSOR_MAP);
    CHECK(strstr(ptx_error_text(), "3 is not the number of an interleave layout"));
    ptx_kernel_free(slice);
    memset(bytes, 7, sizeof bytes);
    CHECK(ptx_launch(box, &one, 2, (void *const *)both) == PTX_TENSOR_MAP);
    map.rank = 6;
    CHECK(ptx_tensor_map_encode(&map, bytes) == PTX_TENSOR_MAP);
    ptx_kernel_free(box);
    ptx_module_free(tensors);

    ptx_kernel_free(kernel);
    ptx_module_free(module);
    ptx_memory_free(memory);
    return 0;
}
