/* Runs the kernel `saxpy` of a module, y = a * x + y over 1000 floats:
 *
 *     cargo build --release -p ptx-isa-run
 *     cc run/examples/saxpy.c -I run/include -L target/release -l ptx_isa_run -Wl,-rpath,target/release -o target/saxpy
 *     target/saxpy tests/kernels/suite-compute_80.ptx
 */
#include "ptx_run.h"

#include <stdio.h>
#include <stdlib.h>

static char *text_of(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *text = calloc(size + 1, 1);
    size_t read = fread(text, 1, size, file);
    fclose(file);
    return read == (size_t)size ? text : NULL;
}

int main(int count, char **arguments) {
    enum { N = 1000 };
    char *source = count == 2 ? text_of(arguments[1]) : NULL;
    if (!source) return fprintf(stderr, "usage: saxpy MODULE.ptx\n"), 2;

    float x[N], y[N], a = 2;
    for (int i = 0; i < N; i++) x[i] = i, y[i] = 1;

    ptx_memory *memory = ptx_memory_new();
    ptx_module *module = ptx_module_load(memory, source);
    ptx_kernel_handle *kernel = module ? ptx_kernel(module, "saxpy") : NULL;
    if (!kernel) return fprintf(stderr, "%s\n", ptx_error_text()), 1;

    int32_t n = N;
    uint64_t device_x = ptx_allocate(memory, sizeof x), device_y = ptx_allocate(memory, sizeof y);
    ptx_copy_in(memory, device_x, x, sizeof x);
    ptx_copy_in(memory, device_y, y, sizeof y);
    void *values[] = {&n, &a, &device_x, &device_y};
    struct ptx_launch_config config = {.grid = {4, 1, 1}, .block = {256, 1, 1}};
    if (ptx_launch(kernel, &config, 4, values)) return fprintf(stderr, "%s\n", ptx_error_text()), 1;
    ptx_copy_out(memory, y, device_y, sizeof y);

    printf("y = ... %.1f %.1f %.1f\n", y[N - 3], y[N - 2], y[N - 1]);
    ptx_kernel_free(kernel);
    ptx_module_free(module);
    ptx_memory_free(memory);
    free(source);
    return 0;
}
