/* PTX kernels on the CPU: the C interface of libptx_isa_run.
 *
 * Functions that return int return 0, or the number of an error, which ptx_last_error gives as well and ptx_error_text
 * explains, for each thread of the host. A null handle means that the call failed.
 */
#ifndef PTX_RUN_H
#define PTX_RUN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ptx_error {
    PTX_OK,
    PTX_MODULE,      /* the module has errors */
    PTX_NO_KERNEL,   /* the module has no such kernel */
    PTX_UNSUPPORTED, /* the kernel needs what this machine lacks */
    PTX_ARGUMENTS,   /* the arguments are not those of the kernel */
    PTX_SHAPE,       /* the grid, block or shared memory cannot be launched */
    PTX_ACCESS,      /* an access outside of every allocation */
    PTX_MISALIGNED,  /* an access whose address is not a multiple of its size */
    PTX_TRAP,        /* the kernel executed a trap */
    PTX_ASSERTION,   /* an assertion of the kernel failed */
    PTX_DEADLOCK,    /* deadlock: all threads wait */
    PTX_LIMIT,       /* the launch executed more instructions than it may */
    PTX_STACK,       /* the stack of a thread is exhausted */
    PTX_CALL,        /* a call of what is not a function */
    PTX_TENSOR_MAP,  /* an invalid tensor map, or one that an instruction cannot use */
    PTX_CONVERGENCE, /* lanes of a warp are missing that have to execute a statement together */
    PTX_MEMORY,      /* the host has no memory for an allocation, variables, stacks or shared memory */
    PTX_RACE         /* two threads access the same bytes, one of them writes, and nothing orders them */
};

/* The number and the text of the error of this thread's last call; the text lasts until the next one. */
int ptx_last_error(void);
const char *ptx_error_text(void);

/* Runs the first kernel of a module as mock drivers do: args[i] is the value itself, an integer or a pointer of the host; of
 * a parameter wider than eight bytes a pointer to its bytes. Global addresses are not checked. Modules are cached by their text. */
int ptx_run(const char *source, int count, void **args, int block_x, int block_y, int block_z, int grid_x, int grid_y,
            int grid_z, int shared);

typedef struct ptx_memory ptx_memory;
typedef struct ptx_module ptx_module;
typedef struct ptx_kernel_handle ptx_kernel_handle;

ptx_memory *ptx_memory_new(void);
void ptx_memory_free(ptx_memory *memory);
/* 0 if the host has no memory for so many bytes. */
uint64_t ptx_allocate(const ptx_memory *memory, size_t bytes);
int ptx_release(const ptx_memory *memory, uint64_t pointer);
int ptx_copy_in(const ptx_memory *memory, uint64_t to, const void *from, size_t bytes);
int ptx_copy_out(const ptx_memory *memory, void *to, uint64_t from, size_t bytes);

ptx_module *ptx_module_load(const ptx_memory *memory, const char *source);
/* Several modules as one program: what one declares .extern, another defines. */
ptx_module *ptx_module_link(const ptx_memory *memory, int count, const char *const *sources);
/* Variables have memory until their module and its kernels are freed. */
void ptx_module_free(ptx_module *module);
ptx_kernel_handle *ptx_kernel(const ptx_module *module, const char *name);
void ptx_kernel_free(ptx_kernel_handle *kernel);

/* Zeros are defaults, but for the grid and the block. */
struct ptx_launch_config {
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t shared;  /* bytes of dynamic shared memory */
    uint32_t threads; /* of the host; 0 for all that it has, 1 for launches that are deterministic */
    uint64_t limit;   /* the most thread-instructions; 0 for any number */
    uint64_t delay;   /* 0 performs asynchronous operations at once; other numbers keep them until a thread waits, in an order that they choose */
    uint32_t cluster[3]; /* blocks of a cluster; zeros for what the kernel's head says */
    uint64_t stack;      /* bytes of a thread's stack, where functions recurse, call by address or reserve stack memory */
    uint64_t heap;       /* the most bytes that kernels may allocate */
    uint32_t races;      /* other than 0 to look for data races */
    /* Takes what kernels print, on any thread but one call at a time; standard output if it is null. */
    void (*print)(const char *text, void *data);
    void *data; /* passed to print */
};

/* Each argument points to the value of a parameter. */
int ptx_launch(const ptx_kernel_handle *kernel, const struct ptx_launch_config *launch, int count, void *const *args);

/* Types of a tensor's elements, as tensormap.replace numbers them. */
enum ptx_tensor_element {
    PTX_TENSOR_U8, PTX_TENSOR_U16, PTX_TENSOR_U32, PTX_TENSOR_S32, PTX_TENSOR_U64, PTX_TENSOR_S64, PTX_TENSOR_F16, PTX_TENSOR_F32,
    PTX_TENSOR_F32_FTZ, PTX_TENSOR_F64, PTX_TENSOR_BF16, PTX_TENSOR_TF32, PTX_TENSOR_TF32_FTZ, PTX_TENSOR_B4X16,
    PTX_TENSOR_B4X16_P64, PTX_TENSOR_B6X16_P32
};

/* A tensor in global memory and the part of it that tensor copies (TMA) move. */
struct ptx_tensor_map {
    int element;                /* enum ptx_tensor_element */
    int rank;                   /* dimensions, 1 to 5; the first is contiguous in memory unless interleaved */
    uint64_t global_address;
    uint64_t global_dim[5];     /* in elements */
    uint64_t global_stride[4];  /* of the dimensions above the first, in bytes */
    uint32_t box_dim[5];        /* in elements */
    uint32_t element_stride[5]; /* 0 for 1 */
    int swizzle;                /* 0, 1, 2, 3: none, 32, 64, 128 bytes */
    int atom;                   /* 0, 1, 2, 3: a swizzle of 128 bytes keeps 16 bytes, 32, 32 with halves swapped, 64 */
    int fill;                   /* out of bounds: 0 for zeros, 1 for NaN */
    int im2col;                 /* 1 for columns of images, by the fields below in place of box_dim */
    int16_t lower[3], upper[3]; /* corners of the bounding box in W, H, D */
    uint16_t channels, pixels;  /* of a copy */
    int interleave;             /* 0, 1, 2: none, slices of 16, 32 bytes; the dimensions are then W, H, D, slices, images */
};

/* Writes the 128 bytes that kernels get, by value or in memory aligned to 64. */
int ptx_tensor_map_encode(const struct ptx_tensor_map *map, void *bytes);

#ifdef __cplusplus
}
#endif

#endif
