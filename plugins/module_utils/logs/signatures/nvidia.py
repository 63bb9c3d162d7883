# SPDX-License-Identifier: GPL-3.0-or-later
"""What NVIDIA says: CUDA and its libraries, NVML, and the kernel driver (numbers by NVIDIA's catalogue of Xids)."""

from __future__ import annotations

from ..signature import Signature

SIGNATURES = (
    Signature(
        "gpu_ecc",
        (b"uncorrectable", b"Xid ", b"ECC_UNCORRECTABLE", b"ECCUncorrectable"),
        "A GPU of this node has uncorrectable memory errors: drain the node, read nvidia-smi -q (ECC, row "
        "remapper) and the kernel log, reset the GPU, and replace it where they come back.",
        (
            rb"uncorrectable ECC error|\bCUDA_ERROR_ECC_UNCORRECTABLE\b|cudaErrorECCUncorrectable"
            rb"|Xid \([^)\r\n]{1,60}\): (?:48|63|64|92|94|95|140|171|172)\b"
        ),
    ),
    Signature(
        "gpu_error",
        (b"Xid ", b"fallen off the bus", b"GPU is lost", b"NVLink error", b"device handle for GPU"),
        "The GPU or its link fell out (off the PCIe bus, NVLink or firmware): drain the node, check power, PCIe and "
        "NVLink, reboot it, and replace the GPU where it comes back.",
        (
            rb"Xid \([^)\r\n]{1,60}\): (?:54|61|62|74|79|109|110|119|120|121|122|123|136|137|142|143|144|145|146|147"
            rb"|148|149|150|154|155|158|166|167)\b"
            rb"|fallen off the bus|GPU is lost|uncorrectable NVLink error|Unable to determine the device handle for GPU"
        ),
    ),
    Signature(
        "driver_mismatch",
        (
            *(
                b"driver version is insufficient",
                b"ersion mismatch",
                b"driver on your system is too old",
                b"forward compatibility was attempted",
            ),
            *(
                b"not yet initialized",
                b"SYSTEM_NOT_READY",
                b"SYSTEM_DRIVER_MISMATCH",
                b"COMPAT_NOT_SUPPORTED",
                b"InsufficientDriver",
            ),
            *(b"unsupported toolchain", b"UNSUPPORTED_PTX_VERSION", b"API mismatch: ", b"CUDA Driver version found is"),
            *(
                b"unsupported display driver",
                b"not supported in the installed CUDA driver",
                b"kernel driver does not match",
            ),
        ),
        "The image's CUDA and the node's driver do not fit each other, or the fabric manager does not run: reload "
        "or update the driver (reboot after an update), start nvidia-fabricmanager, or take an image for this driver.",
        (
            rb"CUDA driver version is insufficient|Driver/library version mismatch|driver on your system is too old"
            rb"|forward compatibility was attempted on non supported|(?:CUDA error"
            rb"|Error 802): system not yet initialized"
            rb"|\bCUDA_ERROR_(?:SYSTEM_NOT_READY|SYSTEM_DRIVER_MISMATCH|COMPAT_NOT_SUPPORTED\w{0,20}"
            rb"|UNSUPPORTED_PTX_VERSION)\b"
            rb"|cudaErrorInsufficientDriver|unsupported toolchain|NVRM: API mismatch: |CUDA Driver version found is"
            rb"|unsupported display driver|not supported in the installed CUDA driver|kernel driver does not match"
        ),
    ),
    Signature(
        "no_gpu",
        (
            b"No CUDA GPUs",
            b"no CUDA-capable device",
            b"CUDA_ERROR_NO_DEVICE",
            b"Found no NVIDIA driver",
            b"error from cudaGetDeviceCount",
            b"Torch not compiled with",
            b"communicate with the NVIDIA driver",
            b"busy or unavailable",
            b"initialize NVML",
            b"incorrectly set up environment",
            b"RmInitAdapter failed",
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
            ),
        ),
        "No GPU can be used: check nvidia-smi on the node, the devices passed in (--gpus), CUDA_VISIBLE_DEVICES, and "
        "whether another process holds the GPUs.",
        (
            rb"error from cudaGetDeviceCount|Torch not compiled with CUDA|No CUDA GPUs are available"
            rb"|no CUDA-capable device|\bCUDA_ERROR_NO_DEVICE\b|Found no NVIDIA driver"
            rb"|couldn't communicate with the NVIDIA driver|devices?(?:\(s\))?(?: are| is)? busy or unavailable"
            rb"|Failed to initialize NVML: |CUDA unknown error - this may be due to an incorrectly set up environment"
            rb"|NVRM: RmInitAdapter failed|is only supported with GPUs, no GPUs found|(?m:^No devices were found)"
            rb"|CUDA driver initialization failed|(?:libcuda|libnvidia-ml)\.so[.\d]{0,9}: cannot open shared object"
            rb"|Failed to open libnvidia-ml|NVML Shared Library Not Found"
            rb"|failed call to cuInit: (?!CUDA_ERROR_NO_DEVICE)"
            rb"|No NVIDIA GPU(?:s|) found|NVMLError_DriverNotLoaded|Driver Not Loaded"
        ),
    ),
    Signature(
        "duplicate_gpu",
        (b"CUDA error: invalid device ordinal", b"CUDA_ERROR_INVALID_DEVICE"),
        "A rank wants a GPU that it does not see: check processes per node, the local ranks, and CUDA_VISIBLE_DEVICES.",
    ),
    Signature(
        "out_of_memory",
        (
            b"CUDA out of memory",
            b"CUDA error: out of memory",
            b"CUDA driver error: out of memory",
            b"Cuda failure",
            b"CUDA_ERROR_OUT_OF_MEMORY",
            b"_ALLOC_FAILED",
            b"cudaErrorMemoryAllocation",
        ),
        "The GPU memory does not suffice: lower the micro batch size, recompute activations or split the model "
        "more; look (nvidia-smi) whether another process holds some of it.",
        (
            rb"CUDA out of memory|CUDA (?:driver )?error: out of memory|Cuda failure [^\r\n]{0,30}out of memory"
            rb"|\bCUDA_ERROR_OUT_OF_MEMORY\b"
            rb"|\bCU\w{1,12}_STATUS_ALLOC_FAILED\b|cudaErrorMemoryAllocation"
        ),
    ),
    Signature(
        "wrong_gpu_build",
        (
            b"no kernel image is available",
            b"invalid device function",
            b"NO_BINARY_FOR_GPU",
            b"device kernel image is invalid",
            b"named symbol not found",
        ),
        "The software was built without this GPU's architecture: take an image for this GPU (TORCH_CUDA_ARCH_LIST).",
        rb"no kernel image is available|(?<!HIP error: )\binvalid device function\b"
        rb"|CUDA error: (?:device kernel image is invalid"
        rb"|named symbol not found)|\bCUDA_ERROR_NO_BINARY_FOR_GPU\b",
    ),
    Signature(
        "sizes",
        (b"device-side assert", b"Device-side assert", b", thread: ["),
        "A kernel was given an index that is out of range, mostly a token outside the vocabulary: compare "
        "tokenizer, data and vocabulary size; CUDA_LAUNCH_BLOCKING=1 shows the call.",
        rb"[Dd]evice-side assert(?:ion|)\b|, thread: \[[\d,]{1,20}\] Assertion",
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
            *(b"[CUDA]: ", b"Xid ", b"CUFFT_", b"CUDA Error: ", b"cuBLAS GEMM algorithm"),
        ),
        "A GPU kernel or library failed: run again with CUDA_LAUNCH_BLOCKING=1 to see which one, read the kernel "
        "log for Xid lines, and compare with another node.",
        (
            rb"CUDA [Ee]rror: |CUDART Error: |an illegal memory access was encountered"
            rb"|unspecified launch failure|invalid device pointer"
            rb"|\binvalid resource handle|\bmisaligned address|cuBLAS Error: "
            rb"|CUBLAS Error: |cuDNN Error: |cublasLt ran into an error"
            rb"|unable to find an engine to execute|\bcuda[A-Z]\w{1,40} failed : |cuda runtime error \("
            rb"|\bCUBLAS_STATUS_(?!SUCCESS)[A-Z_]{1,60}"
            rb"|\bCUDNN_STATUS_(?!SUCCESS)[A-Z_]{1,60}"
            rb"|\bCUDA_ERROR_[A-Z_]{1,60}|Cuda failure |Triton Error \[CUDA\]: "
            rb"|NVRM: Xid \([^)\r\n]{1,60}\): \d{1,4}|\bCUFFT_(?!SUCCESS)[A-Z_]{1,60}"
            rb"|Error: [^\r\n]{0,300}Unable to find suitable cuBLAS GEMM algorithm|\bSXid \([^)\r\n]{1,60}\): \d{1,6}"
        ),
    ),
    Signature(
        "gpu_error",
        (b"NVRM: ", b"NVML:"),
        "The driver of the GPUs reports an error: read the kernel log around this line, and drain the node where "
        "it comes back after a reset.",
        rb"NVRM: [^\r\n]{0,160}(?:\b[Ff]ail|\b[Ee]rror|[Tt]imeout)|\bNVML: ?Unable to ",
    ),
)
