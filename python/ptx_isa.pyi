"""PTX instructions as one table: check modules, evaluate statements, look forms up, run kernels.

Targets and versions are named as in PTX, `"sm_90a"` and `"8.6"`; an unknown target or version raises `ValueError`.
Spans are slices of the text they refer to: `text[diagnostic.span]`. Lines and columns count from 1, columns in
characters.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, final

__all__ = [
    "Access",
    "Declaration",
    "Diagnostic",
    "Directive",
    "Effects",
    "ErrorBound",
    "Evaluation",
    "Fix",
    "Floor",
    "FloorReason",
    "Form",
    "FormOperand",
    "Function",
    "Guard",
    "Kernel",
    "Label",
    "Launch",
    "LaunchError",
    "LinkedModule",
    "Module",
    "Operand",
    "Part",
    "PtxError",
    "Report",
    "Statement",
    "TensorMap",
    "__version__",
    "check",
    "evaluate",
    "explain",
    "fix",
    "forms",
    "link",
]

__version__: str

class PtxError(ValueError):
    """A statement or a mnemonic that is not legal; `diagnostic` says why."""

    diagnostic: Diagnostic

@final
class Fix:
    """A part of a text, and what to write instead."""

    def __new__(cls, start: int, end: int, text: str, safe: bool) -> Fix: ...
    @property
    def span(self) -> slice:
        """What goes; empty where something is inserted."""
    @property
    def text(self) -> str:
        """What comes in its place."""
    @property
    def safe(self) -> bool:
        """Whether the text means the same with it. Any other is a guess at what was meant."""
    def __getnewargs__(self) -> tuple[int, int, str, bool]: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Diagnostic:
    """One finding about a text. `check` makes them; the constructor is for pickling."""

    def __new__(
        cls,
        error: bool,
        code: str,
        message: str,
        help: str | None,
        note: str | None,
        indices: tuple[int, int],
        start: tuple[int, int],
        end: tuple[int, int],
        fixes: Sequence[tuple[int, int, str, bool]],
    ) -> Diagnostic: ...
    def __getnewargs__(self) -> tuple[Any, ...]: ...
    @property
    def severity(self) -> Literal["error", "warning"]:
        """`"error"` where the assembler refuses it, `"warning"` where it takes what the manual does not list."""
    @property
    def code(self) -> str:
        """The rule it is about, which `explain` explains: `"illegal-modifier"`."""
    @property
    def message(self) -> str:
        """What is wrong."""
    @property
    def help(self) -> str | None:
        """What would be right, where that is known."""
    @property
    def note(self) -> str | None:
        """Why, where the message does not say it."""
    @property
    def fixes(self) -> tuple[Fix, ...]:
        """Edits of which each, by itself, makes it right; the likeliest first."""
    @property
    def span(self) -> slice:
        """The offending token: characters of a `str`, bytes of `bytes`."""
    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...
    @property
    def end_line(self) -> int: ...
    @property
    def end_column(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...

def check(
    text: str | bytes,
    target: str | None = None,
    ptx: str | None = None,
    strict: bool = False,
    ignore: Sequence[str] | None = None,
) -> list[Diagnostic]:
    """The assembler's verdict on every statement of a text, in its order; nothing where all is fine.

    Version and target are those of the module; `ptx` and `target` override them, and bare statements, which have
    neither, need them. With `strict`, what the manual does not list is an error, too. Findings of the codes in `ignore`
    are left out, and those that a comment `// ptx-isa: ignore CODE` on their line or above it silences.
    """

def fix(
    text: str,
    target: str | None = None,
    ptx: str | None = None,
    *,
    unsafe: bool = False,
    ignore: Sequence[str] | None = None,
) -> str:
    """The text with the fixes of its findings that are safe, or with `unsafe` of all the likeliest, unless several are equally
    likely; those of the codes in `ignore` are left.
    """

@final
class Form:
    """A legal form: an opcode with its modifiers. `Form("ld.global.u64")` is that of any legal mnemonic."""

    def __new__(cls, mnemonic: str) -> Form: ...
    def __getnewargs__(self) -> tuple[str]: ...
    @property
    def opcode(self) -> str: ...
    @property
    def mnemonic(self) -> str:
        """The unique name of the form: `"setp.lt.f32"`."""
    @property
    def pattern(self) -> str:
        """The mnemonic, with placeholders for free modifiers: `"ld{.sem}{.scope}{.ss}.u32"`."""
    @property
    def signature(self) -> str:
        """The operands as the manual writes them: `"p[|q], a, b"`."""
    @property
    def operands(self) -> list[FormOperand]: ...
    @property
    def ptx(self) -> str:
        """The minimum PTX version."""
    @property
    def targets(self) -> list[str]:
        """The minimum targets, lowest first; a target that includes the features of any of them has the form, too."""
    @property
    def section(self) -> str:
        """The manual's section that describes it."""
    @property
    def has_evaluator(self) -> bool:
        """True if `evaluate` computes it."""
    @property
    def is_collective(self) -> bool:
        """True if the result of a lane depends on other lanes of its warp."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class FormOperand:
    """An operand of a form."""

    @property
    def name(self) -> str:
        """Its name in the manual: `"d"`."""
    @property
    def kind(self) -> Literal["scalar", "vector", "address", "label", "function", "arguments", "targets"]: ...
    @property
    def type(self) -> str | None:
        """The type of a scalar, or of a vector's elements: `"f32"`."""
    @property
    def bits(self) -> int | None:
        """The width of that type in bits."""
    @property
    def lanes(self) -> int:
        """Number of elements of a vector; 1 for other operands."""
    @property
    def destination(self) -> bool:
        """True for a destination."""
    @property
    def second(self) -> str | None:
        """Name of the second destination, after the bar of `p|q`."""

def forms(pattern: str | None = None, target: str | None = None, ptx: str | None = None) -> list[Form]:
    """The legal forms whose mnemonic matches, with `*` for any text; of a target and a version, those that the
    assembler takes there.
    """

def explain(mnemonic: str) -> str:
    """What a mnemonic or an opcode is: meaning, operands, floors, pseudo-code, the manual's section; or what the code of a
    finding means, with an example and its cure.

    Raises `PtxError` where it is none, with the reason and the nearest legal ones.
    """

@final
class ErrorBound:
    """How far a machine's result may be from the exact one; `str` says it in words."""

    def __new__(cls, measure: str, value: str, words: str) -> ErrorBound: ...
    def __getnewargs__(self) -> tuple[str, str, str]: ...
    @property
    def measure(self) -> str:
        """`"ulp"`, units in the last place, or `"abs"`, the difference, or `"rel"`, that divided by the exact result."""
    @property
    def value(self) -> str:
        """How many of them: `"2"`, `"2^-20.5"`."""
    def __eq__(self, other: object, /) -> bool: ...

@final
class Evaluation:
    """What a statement computes; `evaluation[name]` is an output."""

    def __new__(cls, outputs: dict[str, Any], unspecified: dict[str, Any], bound: ErrorBound | None) -> Evaluation: ...
    def __getnewargs__(self) -> tuple[dict[str, Any], dict[str, Any], ErrorBound | None]: ...
    @property
    def outputs(self) -> dict[str, Any]:
        """What each destination receives, without sinks: its bits, an `int`; for sequences a list of them, with `None` for a
        thread that writes nothing; for NumPy's arrays an array of the same shape and the type of the destination. Empty
        where the guard is false for all.
        """
    @property
    def unspecified(self) -> dict[str, Any]:
        """The destinations that the manual leaves open for these inputs, so that any other value is as good; each with
        the threads where that is so, a bit each, or for NumPy's arrays an array of `bool`.
        """
    @property
    def bound(self) -> ErrorBound | None:
        """How far a machine's result may be off, where it need not be the exact one."""
    def __getitem__(self, name: str, /) -> Any: ...

def evaluate(
    inst: str,
    inputs: Mapping[str, Any],
    target: str | None = None,
    active: int | None = None,
) -> Evaluation:
    """Computes a statement: the registers that it reads, by name, to those that it writes.

    An `int` gives the bits of a register; a negative one is its two's complement. A `float` gives the value of a register of a
    type of floats. A sequence, or an array of NumPy, gives a value for each of any number of threads, with which other inputs
    go that are the same in all. NumPy's elements are of the operand's type, or integers that give the bits: floats are not
    converted. Where a guard is false for some elements of arrays, the destination's old value is an input, too.

    It is computed as `target` does, or the newest. Where there are 32 values, or threads depend on each other (`shfl`), or
    `active` is given, a bit for each thread that executes, it is computed for a warp. More threads that depend on each other
    are taken for warps.

    Raises `PtxError` for a statement that is not legal, and `ValueError` for one that cannot be computed from these
    inputs, with all reasons.
    """

class Part:
    """A part of a module: a piece of its text. It cannot be pickled, but its module can."""

    @property
    def text(self) -> str: ...
    @property
    def span(self) -> slice: ...
    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...

@final
class Function(Part):
    """A function or kernel, or a prototype of one."""

    @property
    def name(self) -> str: ...
    @property
    def kernel(self) -> bool: ...
    @property
    def results(self) -> tuple[Declaration, ...]: ...
    @property
    def parameters(self) -> tuple[Declaration, ...]: ...
    @property
    def body(self) -> tuple[Part, ...] | None:
        """Contents of the body, in order; `None` for a prototype."""
    @property
    def statements(self) -> tuple[Statement, ...]:
        """The statements of the body."""
    @property
    def declarations(self) -> tuple[Declaration, ...]:
        """The declarations of the body."""

@final
class Declaration(Part):
    """A register, a family of registers, a variable or a parameter."""

    @property
    def name(self) -> str:
        """Of a family `%r<9>`, its stem; of a parameter without a name, nothing."""
    @property
    def type(self) -> str | None:
        """The type, or the element type of an array or a vector; `None` if the table does not have the type."""
    @property
    def space(self) -> str:
        """`"reg"`, or the state space."""
    @property
    def lanes(self) -> int:
        """Number of elements of a vector; 1 for other types."""
    @property
    def count(self) -> int | None:
        """Number of registers of a family; `None` for other declarations."""
    @property
    def elements(self) -> int | None:
        """Number of elements of an array in memory: 1 for other variables, 0 if the text does not specify it; `None`
        for registers.
        """

@final
class Label(Part):
    @property
    def name(self) -> str: ...

@final
class Directive(Part):
    """Any other directive."""

    @property
    def name(self) -> str:
        """Its name without the dot."""

@final
class Statement(Part):
    """An instruction; `str` gives its canonical spelling. If it has an error, only `reason` is set."""

    @property
    def form(self) -> Form | None: ...
    @property
    def reason(self) -> Diagnostic | None:
        """The error, if it has no form."""
    @property
    def opcode(self) -> str | None: ...
    @property
    def mnemonic(self) -> str | None:
        """With all modifiers, in the manual's order."""
    @property
    def modifiers(self) -> dict[str, str]:
        """Value of each modifier of the syntax: `{"CmpOp": "lt", "type": "f32"}`."""
    @property
    def guard(self) -> Guard | None: ...
    @property
    def operands(self) -> tuple[Operand, ...]:
        """The operands as written, in order."""
    @property
    def effects(self) -> Effects | None:
        """What it reads and writes, and what it does to memory, control flow and other threads."""

@final
class Effects:
    """What a statement does with registers, memory, control flow and other threads."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The registers that it reads, the guard and parts of addresses included, and the carry, `"CC.CF"`."""
    @property
    def writes(self) -> tuple[str, ...]:
        """The registers that it writes, and the carry. Under a guard they may keep what they hold."""
    @property
    def memory(self) -> tuple[Access, ...]:
        """Its accesses to memory, in their order."""
    @property
    def flow(self) -> Literal["next", "branch", "indirect_branch", "call", "return", "exit", "trap"]:
        """Where control goes behind it; under a guard it may go to the next statement."""
    @property
    def synchronization(
        self,
    ) -> tuple[Literal["fence", "wait", "arrive", "wait_cluster", "arrive_cluster", "converge"], ...]:
        """How it waits for other threads, or orders what they see."""
    @property
    def lacks(self) -> str | None:
        """Why effects beyond registers are not described, where they are not."""

@final
class Access:
    """An access to memory."""

    @property
    def operand(self) -> int:
        """The place of the address among the operands."""
    @property
    def space(self) -> str | None:
        """The state space as it is written, `"shared::cta"`; `None` for a generic address."""
    @property
    def bytes(self) -> int:
        """The bytes of all elements."""
    @property
    def read(self) -> bool: ...
    @property
    def written(self) -> bool:
        """What reads and writes is atomic."""
    @property
    def order(self) -> str | None:
        """The modifier that says how it is ordered with others: `"acquire"`."""
    @property
    def scope(self) -> str | None:
        """The modifier that says with which threads: `"gpu"`."""

@final
class Guard:
    """The predicate that a statement depends on: `@p` or `@!p`."""

    @property
    def register(self) -> str: ...
    @property
    def negated(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Operand:
    """What is written for an operand of the form."""

    @property
    def info(self) -> FormOperand:
        """What the form says of it."""
    @property
    def kind(
        self,
    ) -> Literal["register", "negated", "sum", "element", "constant", "vector", "name", "arguments", "sink"]:
        """`negated` is a register behind `!`, `sum` a name plus a value, `element` that of an array with an index,
        `name` a label, a function or a list, `sink` the `_`.
        """
    @property
    def name(self) -> str | None:
        """The register (`"v.x"` for an element of a vector), variable, label or function."""
    @property
    def value(self) -> int | None:
        """The bits of a constant, what is added as 64 bits, or the index."""
    @property
    def elements(self) -> list[str] | None:
        """The items in braces or parentheses."""
    @property
    def second(self) -> str | None:
        """The register behind the bar of `p|q`, or `_`."""
    @property
    def selector(self) -> int | None:
        """The lanes or the mask behind it, packed; the default where none is written."""

@final
class Module:
    """A whole module. Errors are in `diagnostics`; of the parts with an error, only statements are listed."""

    def __new__(cls, text: str, target: str | None = None, ptx: str | None = None) -> Module: ...
    def __getnewargs__(self) -> tuple[str, str | None, str | None]: ...
    @property
    def text(self) -> str: ...
    @property
    def version(self) -> str | None:
        """The version that it was checked against."""
    @property
    def target(self) -> str | None:
        """The target that it was checked against."""
    @property
    def parts(self) -> tuple[Part, ...]:
        """Declarations and directives outside of functions, and the functions, in order."""
    @property
    def functions(self) -> tuple[Function, ...]:
        """The functions among them, prototypes included."""
    @property
    def declarations(self) -> tuple[Declaration, ...]:
        """The variables among them."""
    @property
    def statements(self) -> tuple[Statement, ...]:
        """The bare statements among them, of a text without functions."""
    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All that `check` finds, and what comments silence."""
    def kernel(self, name: str | None = None) -> Kernel:
        """The kernel with a name, or the only one, ready to run on the CPU. All kernels of a module share its variables.

        Raises `PtxError` where the module has an error, and `LaunchError` where it has no such kernel.
        """
    @property
    def floors(self) -> tuple[Floor, ...]:
        """The minimum version and target of each function with a body and, in the last place, of the module."""

@final
class LinkedModule:
    """Several modules as one program."""

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of its kernels."""
    def kernel(self, name: str | None = None) -> Kernel:
        """The kernel with a name, or the only one: see `Module.kernel`."""

def link(*modules: Module | str) -> LinkedModule:
    """Links modules to one program, whose kernels can be run: what one declares `.extern` is what another defines.

    Raises `PtxError` where one of them has an error, and `LaunchError` where they define or declare the same differently.
    """

@final
class Floor:
    """The minimum version and target with which a function or a module is accepted."""

    @property
    def function(self) -> str | None:
        """The function; `None` for the module."""
    @property
    def kernel(self) -> bool:
        """Whether it is a kernel."""
    @property
    def ptx(self) -> str | None:
        """The minimum version; `None` where no version and target are accepted."""
    @property
    def target(self) -> str | None:
        """The minimum target."""
    @property
    def reasons(self) -> tuple[FloorReason, ...]:
        """What is refused with the version below, then what is refused on targets below."""

@final
class FloorReason:
    """What keeps a text from an older version or a lower target."""

    @property
    def needs(self) -> str:
        """What it needs: `"PTX 7.8"`, `"sm_90"`."""
    @property
    def span(self) -> slice: ...
    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...

@final
class Kernel:
    """A kernel that runs on the CPU: `kernel[grid, block](…)`, or `kernel(grid, block, args)`.

    Grid, block and cluster are numbers or tuples of one to three. Each parameter takes a number, `None` for a null pointer, the bytes of a
    struct (an object with the buffer protocol), or an array, on which the kernel works in place: a NumPy array or any object with the
    buffer protocol or DLPack that is in the CPU's memory, contiguous and writable. Accesses outside of the arrays raise `LaunchError`.

    Other threads of Python run during a launch; launches of one module run one after the other. What the kernel prints is written to
    `sys.stdout`.
    """

    @property
    def name(self) -> str: ...
    @property
    def signature(self) -> str:
        """Its name and parameters: `"saxpy(.u32 n, .f32 a, .u64 x, .u64 y)"`."""
    def __getitem__(self, shape: tuple[Any, ...], /) -> Launch:
        """`kernel[grid, block]`, `kernel[grid, block, shared]` or `kernel[grid, block, shared, cluster]`: the kernel with its blocks, its
        threads, the bytes of dynamic shared memory and the blocks of a cluster.
        """
    def __call__(
        self,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Any],
        *,
        shared: int = 0,
        cluster: int | Sequence[int] = 1,
        threads: int | None = None,
        limit: int | None = None,
        stack: int | None = None,
        heap: int | None = None,
        delay: int | None = None,
        races: bool = False,
        reaches: Sequence[Any] = (),
    ) -> Report:
        """Launches the kernel and waits for its end.

        `threads` is the number of threads of the host, all by default; with one, launches are deterministic. `limit` is the most
        instructions, counted once for each thread, `stack` the bytes of a thread's stack, for kernels that recurse or reserve stack
        memory, and `heap` the most bytes that kernels may allocate by `malloc`. With `delay`, a seed, asynchronous copies are kept until someone waits for them, so that
        missing waits show. With `races` a launch looks for data races: accesses of several threads to the same bytes, one of which writes,
        that nothing orders. `reaches` lists arrays that the kernel reaches by addresses in structs or other arrays.

        Raises `TypeError` or `OverflowError` where the arguments are not those of the kernel, and `LaunchError` for all else; arrays
        are then as the kernel left them.
        """

@final
class Launch:
    """A kernel with its grid; to be called with the arguments."""

    def __call__(self, *args: Any) -> Report:
        """As `Kernel.__call__`."""

@final
class TensorMap:
    """A tensor map of an array, for a 128-byte parameter: describes the array, and the box that tensor copies (TMA)
    move. Shapes are in the order of the array's, the contiguous dimension last; `element` is required if the array's
    type does not determine it: `"bf16"`, for example, or `"b4x16"`, `"b4x16_p64"` and `"b6x16_p32"` for the packed bits
    of an array of bytes.

    `interleave` selects a layout with the channels in slices of 16 or 32 bytes. The last dimension of the array must
    then be one slice, which is not a dimension of the map or the box: with slices of 16 bytes, the tensor map of an
    array of `float16` with the shape `(N, C // 8, H, W, 8)` has the dimensions `(N, C // 8, H, W)`.
    """

    def __new__(
        cls,
        array: Any,
        box_shape: Sequence[int],
        *,
        element: str | None = None,
        element_strides: Sequence[int] | None = None,
        interleave: Literal[0, 16, 32] = 0,
        swizzle: Literal[0, 32, 64, 128] = 0,
        atom: Literal[16, 32, 64] = 16,
        fill: Literal["zero", "nan"] = "zero",
    ) -> TensorMap: ...
    @staticmethod
    def im2col(
        array: Any,
        lower: Sequence[int],
        upper: Sequence[int],
        channels: int,
        pixels: int,
        *,
        element: str | None = None,
        element_strides: Sequence[int] | None = None,
        interleave: Literal[0, 16, 32] = 0,
        swizzle: Literal[0, 32, 64, 128] = 0,
        atom: Literal[16, 32, 64] = 16,
        fill: Literal["zero", "nan"] = "zero",
    ) -> TensorMap:
        """A tensor map of images, channels last or interleaved, for copies of `pixels` pixels with `channels` channels
        each (im2col mode). `lower` and `upper` are the corners of the bounding box in the spatial dimensions, such as
        H and W, the upper one relative to the last pixel.
        """
    def encode(self) -> bytes:
        """Its 128 bytes, with the array's address as it is now."""

@final
class Report:
    """What a launch did."""

    @property
    def instructions(self) -> int:
        """Instructions, counted once for each thread that executed them."""
    @property
    def seconds(self) -> float: ...

class LaunchError(RuntimeError):
    """A kernel that cannot be launched, or a launch that failed. Fields that do not apply are `None`."""

    kind: Literal[
        "no-kernel", "unsupported", "shape", "access", "misaligned", "trap", "assertion", "deadlock", "limit", "stack", "call", "convergence",
        "memory", "tensor-map", "race"
    ]
    message: str
    """What is wrong; `str` has the fields below, too."""
    kernel: str | None
    statement: str | None
    line: int | None
    """The statement's line in the module."""
    source: tuple[str, int, int] | None
    """File, line and column of the source that was compiled, where the module has `.loc`."""
    block: tuple[int, int, int] | None
    thread: tuple[int, int, int] | None
    address: int | None
    """Of an access."""
    other: LaunchError | None
    """The other access of a data race."""
