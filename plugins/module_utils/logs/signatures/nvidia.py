# SPDX-License-Identifier: GPL-3.0-or-later
"""What NVIDIA says: CUDA and its libraries, NVML, and the kernel driver (numbers by NVIDIA's catalogue of Xids)."""

from __future__ import annotations

from ..signature import BLAME, Signature
from . import codes

SIGNATURES = (
    Signature(
        "gpu_error",
        (b"fallen off the bus", b"GPU is lost", b"device handle for GPU"),
        codes.FELL_OUT,
        rb"fallen off the bus|GPU is lost|Unable to determine the device handle for GPU",
    ),
    Signature(
        "driver_mismatch",
        (
            *(b"ersion mismatch", b"driver on your system is too old", b"not yet initialized", b"API mismatch: "),
            *(b"CUDA Driver version found is", b"kernel driver does not match", b"abric ", b"NVIDIA open kernel"),
        ),
        codes.DRIVER_MISMATCH,
        rb"Driver/library version mismatch|driver on your system is too old|Error 802: system not yet initialized"
        rb"|NVRM: API mismatch: |CUDA Driver version found is|kernel driver does not match"
        rb"|[Ff]abric [Mm]anager [^\r\n]{0,99} do(?:es)?n't match |RM has detected an NVML/RM version mismatch"
        rb"|NVRM: [^\r\n]{0,99}requires use of the NVIDIA open kernel",
    ),
    Signature(
        "no_gpu",
        (
            b"No CUDA GPUs",
            b"Found no NVIDIA driver",
            b"error from cudaGetDeviceCount",
            b"Torch not compiled with",
            b"communicate with the NVIDIA driver",
            b"busy or unavailable",
            b"initialize NVML",
            b"incorrectly set up environment",
            b"init_adapter failed",
            b"RmInitAdapter failed",
            b"your NVIDIA device is invalid",
            b"without accelerator.",
            b"device < num_gpus",
            b"No supported gpu backend",
            b"since the accelerator is not available",
            b"nvml error: ",
            b"driver nvidia failed",
            b"nvidia: probe of",
            *(
                b"no GPUs found",
                b"No devices were found",
                b"driver initialization failed",
                b"libcuda.so",
                b"libnvidia-ml",
            ),
            *(
                b"Shared Library Not Found",
                b"call to cuInit",
                b"No NVIDIA GPU",
                b"Driver Not Loaded",
                b"DriverNotLoaded",
                b"cuda.is_available() is False",
            ),
        ),
        "No GPU can be used: check nvidia-smi on the node, the devices passed in (--gpus), CUDA_VISIBLE_DEVICES, and "
        "whether another process holds the GPUs.",
        (
            rb"error from cudaGetDeviceCount|Torch not compiled with CUDA|No CUDA GPUs are available"
            rb"|Found no NVIDIA driver|couldn't communicate with the NVIDIA driver|devices?(?:\(s\))?(?: are"
            rb"| is)? busy or unavailable|Failed to initialize NVML: "
            rb"|CUDA unknown error - this may be due to an incorrectly set up environment|nvml error: driver not loaded"
            rb"|NVRM: [^\r\n]{0,60}(?:RmInitAdapter|rm_init_adapter) failed|probe with driver nvidia failed"
            rb"|nvidia: probe of \S{1,20} failed|is only supported with GPUs, no GPUs found|(?m:^No devices were found)"
            rb"|CUDA driver initialization failed|(?:libcuda|libnvidia-ml)\.so[.\d]{0,9}: cannot open shared object"
            rb"|Failed to open libnvidia-ml|NVML Shared Library Not Found|failed call to cuInit: "
            rb"|NVRM: This PCI I/O region assigned to your NVIDIA device is invalid|Error: (?:Can't initialize NVML"
            rb"|Cannot use \S{1,20} without accelerator\.)|Error: [^\r\n]{0,160}device < num_gpus"
            rb"|No supported gpu backend found|can not run on your system since the accelerator is not available"
            rb"|No NVIDIA GPU(?:s|) found|NVMLError_DriverNotLoaded|Driver Not Loaded"
            rb"|Error: [^\r\n]{0,200}torch\.cuda\.is_available\(\) is False"
        ),
    ),
    Signature(
        "out_of_memory",
        (b"CUDA out of memory", b"_ALLOC_FAILED", b"_INSUFFICIENT_RESOURCES", b"_DEVICE_ALLOCATION_FAILED"),
        codes.OUT_OF_MEMORY,
        rb"CUDA out of memory|\b(?:CU[A-Z]{1,12}_STATUS|CUFFT)_(?:ALLOC_FAILED|INSUFFICIENT_RESOURCES"
        rb"|INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED)\b",
    ),
    Signature(
        "wrong_gpu_build",
        (b"_ARCH_MISMATCH", b"is not defined for option 'gpu-name'", b"nsupported gpu architecture"),
        codes.WRONG_BUILD,
        rb"\bCU\w{1,30}_ARCH_MISMATCH\b|Value '\w{1,20}' is not defined for option 'gpu-name'"
        rb"|\bfatal {1,4}: Unsupported gpu architecture",
    ),
    Signature(
        "import_error",
        (b"_VERSION_MISMATCH", b"_LOADING_FAILED", b"_PREREQUISITE_MISSING"),
        "A library is missing or older than the program wants: the image is not the one that it was built for.",
        rb"\bCUDNN_STATUS_\w{0,30}(?:VERSION_MISMATCH|LOADING_FAILED|PREREQUISITE_MISSING)\b",
    ),
    Signature(
        "wrong_rank",
        (b"device_count() is ", b"Invalid device id"),
        "A rank wants a GPU that it does not see: check processes per node, the local ranks, and CUDA_VISIBLE_DEVICES "
        "or HIP_VISIBLE_DEVICES.",
        rb"on CUDA device \d{1,4} but torch\.cuda\.device_count\(\) is \d|AssertionError: Invalid device id",
    ),
    Signature(
        "sizes",
        (b"device-side assert", b"Device-side assert", b", thread: [", b"index out of range in self"),
        codes.ASSERT,
        rb"IndexError: index out of range in self|[Dd]evice-side assertion\b|, thread: \[[\d,]{1,20}\] Assertion",
        nearness=BLAME["gpu_error"] - 1,
    ),
    Signature(
        "sizes",
        (b"cuBLAS GEMM algorithm",),
        "cuBLASLt has no matrix multiplication for these sizes and this precision: FP8 takes multiples of 16 only, so "
        "compare sequence length, hidden size and micro batch size with that, or take a newer image.",
        rb"Error: [^\r\n]{0,300}Unable to find suitable cuBLAS GEMM algorithm",
    ),
    Signature(
        "gpu_error",
        (b"STATUS_NOT_INITIALIZED",),
        "A GPU library could not start, mostly as the GPU memory is used up: lower the micro batch size, look "
        "(nvidia-smi, amd-smi) whether another process holds some of it, and check that the library fits the driver.",
        rb"\b(?:CUBLAS|CUDNN|HIPBLAS|CUSOLVER)_STATUS_NOT_INITIALIZED\b",
    ),
    Signature(
        "gpu_error",
        (
            *(
                b"CUDA error: ",
                b"cuda runtime error",
                b"CUBLAS_STATUS_",
                b"CUDNN_STATUS_",
                b"CUSOLVER_STATUS_",
                b"CUSPARSE_STATUS_",
                b" at line ",
                b"failed : ",
                b"uBLAS Error",
                b"CUBLAS Error",
                b"cublasLt ran into",
                b"cuDNN Error",
                b"unable to find an engine",
                b"CUDA_ERROR_",
                b"Cuda failure",
            ),
            *(b"CUDART Error", b"illegal memory access", b"launch failure", b"invalid device pointer"),
            *(b"invalid resource handle", b"misaligned address"),
            *(b"[CUDA]: ", b"Xid", b"XID", b"CUFFT_", b"CUDA Error: ", b"CUDA error "),
            *(b"CUDA driver error: ", b"CUDA RT call", b"GPUassert: ", b"cudaError", b"Frontend error", b"c10/cuda/"),
            b"c10/hip/",
        ),
        "A GPU kernel or library failed: run again with CUDA_LAUNCH_BLOCKING=1 to see which one, read the kernel "
        "log for Xid lines, and compare with another node.",
        (
            rb"CUDA [Ee]rror: |CUDART Error: |an illegal memory access was encountered|unspecified launch failure"
            rb"|invalid device pointer|\binvalid resource handle|\bmisaligned address|cuBLAS Error: |CUBLAS Error: "
            rb"|cuDNN Error: |cublasLt ran into an error|unable to find an engine to execute"
            rb"|\bcuda[A-Z]\w{1,40} failed : |cuda runtime error \(|\bCUBLAS_STATUS_(?!SUCCESS)[A-Z_]{1,60}|\b(?:CUDNN"
            rb"|CUSOLVER|CUSPARSE)_STATUS_(?!SUCCESS)[A-Z_]{1,60}|(?m:^Error [^\r\n]{1,99} at line \d{1,6} in file )"
            rb"|\bCUDA_ERROR_[A-Z_]{1,60}|Cuda failure |Triton Error \[CUDA\]: |\bX(?:id"
            rb"|ID)(?: \([^)\r\n]{1,60}\):)?(?: (?:error|code|event|number))?[ :=]{1,3}(?!16[2-5]\b)[1-9]\d{0,2}\b"
            rb"|CUDA driver error: |CUDA error (?:at |\([^ \r\n]{1,300}:\d{1,6}\): )|CUDA RT call \S{1,99} in line"
            rb"|GPUassert: |cuDNN Frontend error|INTERNAL ASSERT FAILED at \"[^\"\r\n]{0,200}c10/(?:cuda|hip)/"
            rb"|(?<!Search for `)\bcudaError[A-Z]\w{1,40}(?:[ '\")(:.]|$)|\bCUFFT_(?!SUCCESS)[A-Z_]{1,60}"
            rb"|\bSXid \([^)\r\n]{1,60}\): \d{1,6}"
        ),
    ),
    Signature(
        "gpu_ecc",
        (b"emapping fail", b"emapping Failure"),
        "A GPU of this node has no spare memory rows left for those that failed (nvidia-smi -q -d ROW_REMAPPER): drain "
        "the node and replace the GPU.",
        rb"[Rr]ow[- ][Rr]emapping fail(?:ure|ed)|Remapping Failure Occurred {1,20}: Yes",
    ),
    Signature(
        "gpu_error",
        (b"NVRM: ", b"NVML:", b"NVMLError_"),
        "The driver of the GPUs reports an error: read the kernel log around this line, and drain the node where "
        "it comes back after a reset.",
        rb"NVRM: (?!failed to allocate )[^\r\n]{0,160}(?:\b[Ff]ail|\b[Ee]rror|[Tt]imed? ?out)|\bNVML: ?Unable to "
        rb"|\bNVMLError_(?:Unknown|ResetRequired|IrqIssue|NoPermission|OperatingSystem|Timeout)\b",
    ),
)
